#include "cli/output/new_files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

bool begins_with(const std::filesystem::path& path, std::string_view mark) {
  std::string begin(mark.size(), '\0');
  std::ifstream file(path);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file && begin == mark;
}

}  // namespace

NewFiles::NewFiles(const std::string& folder, std::string_view mark, bool force, std::string option)
    : folder_(folder),
      mark_(mark),
      force_(force),
      option_(std::move(option)),
      suffix_(fmt::format(".new-{:08x}", std::random_device()())) {
  std::error_code ignored;
  if (std::filesystem::exists(folder_, ignored) &&
      !std::filesystem::is_directory(folder_, ignored)) {
    throw UsageError(fmt::format("{}: {} is not a folder", option_, folder));
  }
}

NewFiles::~NewFiles() {
  std::error_code ignored;
  for (const File& file : files_) std::filesystem::remove(temporary(file), ignored);
}

void NewFiles::check(const std::string& name) const {
  const std::filesystem::path path = folder_ / name;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, std::strerror(EISDIR));
  if (!force_ && std::filesystem::exists(path, ignored) && !begins_with(path, mark_)) {
    throw UsageError(
        fmt::format("{}: {} is there, and autotune has not written it: --force overwrites it",
                    option_, path.string()));
  }
}

void NewFiles::add(const std::string& name, std::string text) {
  check(name);
  files_.push_back({name, std::move(text)});
}

void NewFiles::commit() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) fail(folder_, error.message());
  for (const File& file : files_) write(temporary(file), file.text);
  for (const File& file : files_) {
    std::filesystem::rename(temporary(file), folder_ / file.name, error);
    if (error) fail(folder_ / file.name, error.message());
  }
  files_.clear();
}

void NewFiles::write(const std::filesystem::path& path, const std::string& text) const {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(path.parent_path(), std::strerror(errno));
}

void NewFiles::fail(const std::filesystem::path& path, const std::string& why) const {
  throw StorageError(fmt::format("{}: {}: cannot be written: {}", option_, path.string(), why));
}

std::filesystem::path NewFiles::temporary(const File& file) const {
  return folder_ / (file.name + suffix_);
}

}  // namespace autotune
