#include "cli/output/output_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/compression.hpp"
#include "core/posix/file_descriptor.hpp"
#include "core/posix/ownership.hpp"
#include "tuner/replay/gzip.hpp"

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabaseBegin{"SQLite format 3\0", 16};

// Returns whether all of it was written; errno says why not.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The first bytes of a regular file, unpacked if it is compressed; nullopt where it cannot be read,
// and errno says why.
std::optional<std::string> beginning_of(const std::string& path) {
  constexpr std::size_t kMostPacked = 256 << 10;  // a block of zstd, of which one byte is needed
  constexpr std::size_t kMostPlain = 256;
  // Without O_NONBLOCK a pipe that took the file's place would be waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string bytes(kMostPacked, '\0');
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (count < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(count));
  if (is_gzip(bytes)) return unzipped_beginning(bytes, kMostPlain);
  return is_compressed(bytes) ? decompressed_beginning(bytes, kMostPlain) : bytes;
}

bool is_standard_output(const struct stat& found) {
  struct stat standard {};
  return ::fstat(STDOUT_FILENO, &standard) == 0 && is_same(found, standard);
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const File& file : files_) {
    if (!file.temporary.empty()) ::unlink(file.temporary.c_str());
  }
}

void OutputFiles::check(const std::string& path) const {
  static_cast<void>(place_of(path));
}

void OutputFiles::add(const std::string& path, std::string bytes) {
  files_.push_back(place_of(path));
  files_.back().bytes = std::move(bytes);
}

void OutputFiles::check_not_planted(const std::string& path) const {
  if (!may_be_planted(path)) return;
  throw StorageError(rule_.option + ": " + path +
                     ": is not a regular file, and another user's: not used");
}

void OutputFiles::follow(File& file, const struct stat& found) {
  std::error_code error;
  struct stat behind {};
  file.target = fs::canonical(file.path, error);
  if (error || ::stat(file.target.c_str(), &behind) != 0 || !is_same(found, behind)) {
    file.target = file.path;
    file.in_place = true;
  }
}

OutputFiles::File OutputFiles::place_of(const std::string& path) const {
  File file{.path = path, .bytes = {}, .target = path, .mode = {}};
  struct stat itself {};
  if (path.empty() || ::lstat(path.c_str(), &itself) != 0) return file;
  const bool is_link = S_ISLNK(itself.st_mode);
  // Another user's link may lead to a file of this user's.
  if (!S_ISREG(itself.st_mode)) check_not_planted(path);
  const struct stat found = status_of(path);
  const bool is_regular = S_ISREG(found.st_mode);
  // What /dev/stdout leads to goes on where it ends.
  const bool goes_on = rule_.streams && is_link && is_standard_output(found);
  if (is_regular) {
    check_replaced(path, goes_on || rule_.force.value_or(false));
    file.mode = found.st_mode & 07777;
  }
  file.in_place = goes_on || !is_regular;
  if (goes_on) file.target.clear();
  if (is_link && !file.in_place) follow(file, found);
  return file;
}

struct stat OutputFiles::status_of(const std::string& path) const {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) fail(path, errno);
  if (S_ISDIR(found.st_mode)) fail(path, EISDIR);
  if (!S_ISREG(found.st_mode) && !rule_.streams) {
    refuse(path, "is not a regular file: name a file");
  }
  return found;
}

// Throws what check() throws, for a path that leads to a regular file. `any`: of any kind that
// commands do not read.
void OutputFiles::check_replaced(const std::string& path, bool any) const {
  if (::access(path.c_str(), W_OK) != 0) fail(path, errno);
  const std::string read = rule_.read == "-" ? "/dev/stdin" : rule_.read;
  std::error_code ignored;
  if (!read.empty() && fs::equivalent(path, read, ignored)) {
    refuse(path, "is what the command reads: name another file");
  }
  const std::optional<std::string> begin = beginning_of(path);
  if (!begin) {
    throw StorageError(fmt::format("{}: {}: cannot be read, so it is not replaced: {}",
                                   rule_.option, path, std::strerror(errno)));
  }
  if (begin->starts_with(kDatabaseBegin)) refuse(path, "is a database: name another file");
  const auto is_begin = [&](std::string_view own) { return begin->starts_with(own); };
  if (begin->empty() || any || std::ranges::any_of(rule_.begins, is_begin)) {
    return;
  }
  refuse(path, std::string("is there, and autotune has not written it: ") +
                   (rule_.force ? "--force overwrites it" : "name another file, or remove it"));
}

void OutputFiles::commit() {
  for (File& file : files_) prepare(file);
  std::vector<std::string> done;
  try {
    for (File& file : files_) {
      finish(file);
      done.push_back(file.path);
    }
  } catch (const StorageError& error) {
    if (done.empty()) throw;
    throw StorageError(
        fmt::format("{}; written before it: {}", error.what(), fmt::join(done, ", ")));
  }
  files_.clear();
}

// Writes a new file next to the target, which finish() gives the name. A file in a folder that
// takes no new one is written in place.
void OutputFiles::prepare(File& file) const {
  if (file.in_place || file.target.empty()) return;
  const fs::path folder = file.target.parent_path();
  std::error_code error;
  if (rule_.makes_folders) fs::create_directories(folder, error);
  if (error) fail(folder, error.value());
  // A name that somebody could guess might be taken.
  std::random_device random;
  fs::path temporary = folder / fmt::format(".autotune-output-{:08x}{:08x}", random(), random());
  constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kMode = 0666;  // less the umask
  const FileDescriptor opened(::open(temporary.c_str(), kNewFile, kMode));
  if (opened.get() < 0) {
    const bool is_refused = errno == EACCES || errno == EPERM || errno == EROFS;
    if (!file.mode || !is_refused) fail(file.path, errno);
    file.in_place = true;
    return;
  }
  file.temporary = std::move(temporary);
  if ((file.mode && ::fchmod(opened.get(), *file.mode) != 0) ||
      !write_all(opened.get(), file.bytes) || ::fsync(opened.get()) != 0) {
    fail(file.path, errno);
  }
}

void OutputFiles::finish(File& file) const {
  if (file.target.empty()) {
    if (std::fwrite(file.bytes.data(), 1, file.bytes.size(), stdout) < file.bytes.size()) {
      throw std::system_error(errno, std::generic_category());
    }
  } else if (file.in_place) {
    const FileDescriptor opened(::open(file.target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (opened.get() < 0 || !write_all(opened.get(), file.bytes)) fail(file.path, errno);
  } else {
    if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) fail(file.path, errno);
    file.temporary.clear();
  }
}

void OutputFiles::fail(const std::string& path, int error) const {
  throw StorageError(
      fmt::format("{}: {}: cannot be written: {}", rule_.option, path, std::strerror(error)));
}

void OutputFiles::refuse(const std::string& path, const std::string& why) const {
  throw UsageError(fmt::format("{}: {} {}", rule_.option, path, why));
}

void write_output(const OutputRule& rule, const std::string& path, const std::string& bytes,
                  const std::string& what) {
  OutputFiles files(rule);
  files.add(path, bytes);
  files.commit();
  if (path.empty()) return;
  say(fmt::format("wrote {} to {} ({} bytes)", what, printable(path), bytes.size()));
}

}  // namespace autotune
