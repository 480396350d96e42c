// Files of recorded results, of any format.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/compression.hpp"
#include "tuner/replay/gzip.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

constexpr std::uint64_t kMaxPlainBytes = std::uint64_t{4} << 30;

struct Format {
  const char* name;
  const char* key;  // the member of the document that holds the results, which tells the format
  ResultReader (*reader)(const OrderedJson& outline);
};

constexpr Format kFormats[] = {
    {"T4 1.0.0", "results", t4_reader},
    {"a cache of Kernel Tuner", "cache", kernel_tuner_reader},
    {"KTT", "Results", ktt_reader},
    {"autotune db export", "trials", exported_trials_reader},
    {"Kernel Tuner", kWholeDocument, kernel_tuner_list_reader},
};

[[noreturn]] void refuse_length() {
  throw UsageError(fmt::format("has more than {} GiB of text: record fewer results in one file",
                               kMaxPlainBytes >> 30));
}

// The bytes of a file, or of a pipe until it ends.
std::string bytes_of(const std::string& path) {
  std::error_code ignored;
  const bool is_regular = std::filesystem::is_regular_file(path, ignored);
  if (std::filesystem::is_character_file(path, ignored)) {  // which may have no end
    throw UsageError("is a device: name a file of recorded results");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw UsageError(
        fmt::format("cannot be read: {}; name a file of recorded results", std::strerror(errno)));
  }
  std::string bytes;
  if (is_regular) {
    const std::uintmax_t size = std::filesystem::file_size(path, ignored);
    if (size > kMaxPlainBytes) refuse_length();
    bytes.reserve(size);
  }
  for (std::string block(std::size_t{1} << 20, '\0'); file;) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    if (bytes.size() + count > kMaxPlainBytes) refuse_length();
    bytes.append(block, 0, count);
  }
  if (!bytes.empty()) return bytes;
  throw UsageError(
      fmt::format("is {}: name a file of recorded results",
                  std::filesystem::is_directory(path, ignored) ? "a folder" : "empty"));
}

std::string plain_content(const std::string& path) {
  std::string bytes = bytes_of(path);
  if (bytes.starts_with("SQLite format 3")) {  // a likely thing to try
    throw UsageError(
        fmt::format("is a database: 'autotune db export --db {} --output "
                    "trials.t4.json' makes the recording to replay",
                    path));
  }
  const bool by_gzip = is_gzip(bytes);
  if (!by_gzip && !is_compressed(bytes)) return bytes;
  std::optional<std::string> plain =
      by_gzip ? unzipped(bytes, kMaxPlainBytes) : decompressed(bytes, kMaxPlainBytes);
  if (plain) return std::move(*plain);
  throw UsageError(
      fmt::format("is not a whole {} file, or has more than {} GiB of text: copy it again",
                  by_gzip ? "gzip" : "zstd", kMaxPlainBytes >> 30));
}

// What would hold the results in this format; nullptr if the document has none.
const OrderedJson* results_of(const OrderedJson& outline, const Format& format) {
  const bool is_whole = format.key == std::string(kWholeDocument);
  if (is_whole || outline.is_array()) return is_whole && outline.is_array() ? &outline : nullptr;
  const auto found = outline.find(format.key);
  return found == outline.end() ? nullptr : &*found;
}

void visit_as(const Format& format, const RecordedDocument& document,
              const std::function<void(const RecordedResult&)>& visit) {
  if (!results_of(document.outline(), format)->is_structured()) {
    throw UsageError(fmt::format("its results are not as {} has them: no list", format.name));
  }
  try {
    bool has_results = false;
    const ResultReader read = format.reader(document.outline());
    document.visit_results(format.key, [&](const std::string& name, const OrderedJson& result) {
      visit(read(name, result));
      has_results = true;
    });
    if (!has_results) throw UsageError("has no results: record some first");
  } catch (const OrderedJson::exception& error) {
    throw UsageError(fmt::format("its results are not as {} has them: {}", format.name,
                                 std::strchr(error.what(), ' ') + 1));
  }
}

bool visit_content(const std::string& path,
                   const std::function<void(const RecordedResult&)>& visit) {
  std::vector<std::string> keys;
  for (const Format& format : kFormats) keys.emplace_back(format.key);
  const RecordedDocument document(plain_content(path), keys);
  const OrderedJson& outline = document.outline();
  for (const Format& format : kFormats) {
    if (results_of(outline, format) == nullptr) continue;
    visit_as(format, document, visit);
    return document.is_whole();
  }
  throw UsageError(
      "has no recorded results: expected \"results\" (T4), \"cache\" (Kernel Tuner), \"Results\" "
      "(KTT), \"trials\" (autotune db export) or a list (Kernel Tuner's tune_kernel)");
}

}  // namespace

RecordedConfiguration::RecordedConfiguration(std::shared_ptr<const std::vector<std::string>> names,
                                             std::vector<OrderedJson> values)
    : names_(std::move(names)), values_(std::move(values)) {}

RecordedConfiguration::RecordedConfiguration(const OrderedJson& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.get_ref<const OrderedJson::object_t&>()) {
    names.push_back(name);
    values_.push_back(value);
  }
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

const std::vector<std::string>& RecordedConfiguration::names() const {
  static const std::vector<std::string> none;
  return names_ ? *names_ : none;
}

bool read_recorded_file(const std::string& path,
                        const std::function<void(const RecordedResult&)>& visit) {
  try {
    return visit_content(path == "-" ? "/dev/stdin" : path, visit);
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace autotune
