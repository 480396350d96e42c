// Files of recorded results, of any format.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

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
  const char* key;  // a member of the document, which tells the format
  std::vector<RecordedResult> (*read)(const OrderedJson& document);
};

constexpr Format kFormats[] = {
    {"T4 1.0.0", "results", read_t4},
    {"a cache of Kernel Tuner", "cache", read_kernel_tuner_cache},
    {"KTT", "Results", read_ktt_results},
    {"autotune db export", "trials", read_exported_trials},
};

std::string plain_content(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_character_file(path, ignored)) {  // which may have no end
    throw UsageError("is a device: name a file of recorded results");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw UsageError(
        fmt::format("cannot be read: {}; name a file of recorded results", std::strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  std::string bytes = text.str();
  if (bytes.empty()) throw UsageError("is empty or a folder: name a file of recorded results");
  const bool by_gzip = is_gzip(bytes);
  if (!by_gzip && !is_compressed(bytes)) return bytes;
  std::optional<std::string> plain =
      by_gzip ? unzipped(bytes, kMaxPlainBytes) : decompressed(bytes, kMaxPlainBytes);
  if (plain) return std::move(*plain);
  throw UsageError(fmt::format("is not a whole {} file: copy it again", by_gzip ? "gzip" : "zstd"));
}

std::vector<RecordedResult> read_as(const Format& format, const OrderedJson& document) {
  try {
    return format.read(document);
  } catch (const OrderedJson::exception& error) {
    throw UsageError(fmt::format("its results are not as {} has them: {}", format.name,
                                 std::strchr(error.what(), ' ') + 1));
  }
}

RecordedFile read_content(const std::string& path) {
  const RecordedDocument document = parse_recorded_json(plain_content(path));
  for (const Format& format : kFormats) {
    if (document.json.is_object() && document.json.contains(format.key)) {
      return {read_as(format, document.json), document.is_whole};
    }
  }
  throw UsageError(
      "has no recorded results: expected \"results\" (T4), \"cache\" (Kernel Tuner), \"Results\" "
      "(KTT) or \"trials\" (autotune db export)");
}

}  // namespace

RecordedFile read_recorded_file(const std::string& path) {
  try {
    RecordedFile file = read_content(path);
    if (file.results.empty()) throw UsageError("has no results: record some first");
    return file;
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace autotune
