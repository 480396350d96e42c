#include "cli/output/output_form.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/output/table.hpp"
#include "core/compression.hpp"
#include "tuner/replay/gzip.hpp"

namespace autotune {
namespace {

constexpr int kSmallestLevel = 19;
constexpr std::string_view kPacked[] = {".gz", ".zst"};
constexpr std::string_view kOtherPacked[] = {".xz", ".bz2", ".lz4", ".lzma", ".zip", ".7z", ".br"};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

[[noreturn]] void refuse(const std::string& path, const std::vector<OutputEnding>& endings,
                         bool can_be_packed) {
  std::vector<std::string_view> known;
  for (const OutputEnding& each : endings) known.push_back(each.ending);
  throw UsageError(fmt::format("--output: the name '{}' must end in {}{}, e.g. --output name{}",
                               printable(path), fmt::join(known, ", "),
                               can_be_packed ? ", plain or with .gz or .zst behind it" : "",
                               known.front()));
}

}  // namespace

std::string OutputForm::packed(std::string document) const {
  if (compression == ".gz") return zipped(document);
  return compression == ".zst" ? compressed(document, kSmallestLevel) : std::move(document);
}

OutputForm output_form(const std::string& path, const std::string& format, const std::string& usual,
                       const std::vector<OutputEnding>& endings, bool can_be_packed) {
  std::filesystem::path name = in_lower_case(std::filesystem::path(path).filename());
  OutputForm form{format.empty() ? usual : format, ""};
  if (can_be_packed && is_one_of(kPacked, name.extension().string())) {
    form.compression = name.extension();
    name = name.stem();
  }
  if (is_one_of(kPacked, name.extension().string()) ||
      is_one_of(kOtherPacked, name.extension().string())) {
    refuse(path, endings, can_be_packed);
  }
  for (const OutputEnding& each : endings) {
    if (!name.string().ends_with(each.ending)) continue;
    if (format.empty()) form.format = each.formats.front();
    if (is_one_of(each.formats, form.format)) return form;
    throw UsageError(
        fmt::format("--format: {} contradicts the name '{}', which is for {}: leave "
                    "the option out, or name another file",
                    format, printable(path), each.formats.front()));
  }
  if (format.empty() && name.has_extension()) refuse(path, endings, can_be_packed);
  return form;
}

}  // namespace autotune
