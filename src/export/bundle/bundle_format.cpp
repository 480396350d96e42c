#include "export/bundle/bundle_format.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/cbor.hpp"
#include "core/compression.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "1";
constexpr std::size_t kLengthDigits = 16;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kLengthAt = kBundleMark.size() + kFormat.size() + 1;
constexpr std::size_t kHashAt = kLengthAt + kLengthDigits + 1;
constexpr std::size_t kHeadLine = kHashAt + kHashDigits + 1;
constexpr std::uint64_t kMostIndexBytes = std::uint64_t{64} << 20;
// A choice has some 60 values, and each may take 100 bytes of memory.
constexpr CborLimits kIndexLimits = {.values = 4'000'000};

json as_json(const BundledChoice& choice) {
  json row = {{"problem", choice.problem},
              {"template", choice.template_name},
              {"space_version", choice.space_version},
              {"configuration", choice.configuration},
              {"match", static_cast<int>(choice.match)},
              {"explanation", choice.explanation},
              {"tuned_for", choice.tuned_for}};
  if (choice.median_us) row["median_us"] = *choice.median_us;
  return row;
}

template <typename Integer>
Integer integer_from(const json& row) {
  const std::int64_t number = whole_number(row);
  if (!std::in_range<Integer>(number)) throw Error("a number is out of range");
  return static_cast<Integer>(number);
}

MatchKind match_from(const json& row) {
  const auto number = integer_from<std::uint8_t>(row);
  if (number > static_cast<int>(MatchKind::predicted)) throw Error("unknown match kind");
  return static_cast<MatchKind>(number);
}

BundledChoice choice_from(const json& row) {
  BundledChoice choice{.problem = row.at("problem").get<Problem>(),
                       .template_name = row.at("template").get<std::string>(),
                       .space_version = integer_from<int>(row.at("space_version")),
                       .configuration = row.at("configuration").get<Configuration>(),
                       .match = match_from(row.at("match")),
                       .explanation = row.at("explanation").get<std::string>(),
                       .tuned_for = row.at("tuned_for").get<Problem>(),
                       .median_us = std::nullopt};
  if (row.contains("median_us")) choice.median_us = row.at("median_us").get<double>();
  return choice;
}

json as_json(const BundleIndex::Kernel& kernel) {
  return {{"key", kernel.key},
          {"bytes", kernel.bytes},
          {"plain_bytes", kernel.plain_bytes},
          {"hash", kernel.hash}};
}

BundleIndex::Kernel kernel_from(const json& row) {
  return {row.at("key").get<std::string>(), integer_from<std::uint64_t>(row.at("bytes")),
          integer_from<std::uint64_t>(row.at("plain_bytes")), row.at("hash").get<std::string>()};
}

json as_json(const BundleIndex& index) {
  json text = {{"version", index.version},      {"architecture", index.target.architecture},
               {"device", index.target.device}, {"compiler", index.compiler},
               {"choices", json::array()},      {"kernels", json::array()}};
  for (const BundledChoice& choice : index.choices) text["choices"].push_back(as_json(choice));
  for (const auto& kernel : index.kernels) text["kernels"].push_back(as_json(kernel));
  return text;
}

BundleIndex index_from(const json& text) {
  BundleIndex index{
      .version = text.at("version").get<std::string>(),
      .target = {text.at("architecture").get<std::string>(), text.at("device").get<std::string>()},
      .compiler = text.at("compiler").get<std::string>(),
      .choices = {},
      .kernels = {}};
  for (const json& row : text.at("choices")) index.choices.push_back(choice_from(row));
  for (const json& row : text.at("kernels")) index.kernels.push_back(kernel_from(row));
  return index;
}

std::string head_hash(std::string_view before, std::string_view index) {
  return content_hash(std::string(before) + std::string(index));
}

[[noreturn]] void refuse(const std::string& why) {
  throw StorageError(why);
}

// The bytes of the index, which are those that were written.
std::string_view checked_index(std::string_view file) {
  if (file.substr(0, kBundleMark.size()) != kBundleMark) refuse("is not a bundle of autotune");
  const std::string_view format = file.substr(kBundleMark.size(), kFormat.size() + 1);
  if (format.size() == kFormat.size() + 1 &&
      (format.substr(0, kFormat.size()) != kFormat || format.back() != ' ')) {
    refuse("has a format that this version of autotune does not read: export it anew");
  }
  if (file.size() < kHeadLine) refuse("is damaged: it ends within its first line");
  std::uint64_t bytes = 0;
  const char* const digits = file.data() + kLengthAt;
  const auto [end, error] = std::from_chars(digits, digits + kLengthDigits, bytes, 16);
  const std::string_view rest = file.substr(kHeadLine);
  if (error != std::errc() || end != digits + kLengthDigits || file[kHeadLine - 1] != '\n') {
    refuse("is damaged: in its first line");
  }
  if (bytes > rest.size()) refuse("is damaged: it ends within its index");
  const std::string_view index = rest.substr(0, bytes);
  if (head_hash(file.substr(0, kHashAt), index) != file.substr(kHashAt, kHashDigits)) {
    refuse("is damaged: its index is not what was written");
  }
  return index;
}

void check_kernels(const BundleIndex& index, std::uint64_t left) {
  for (const BundleIndex::Kernel& kernel : index.kernels) {
    if (kernel.plain_bytes > kMostCubinBytes) refuse("is damaged: a kernel is too large");
    if (kernel.bytes > left) refuse("is damaged: it ends within its kernels");
    left -= kernel.bytes;
  }
  if (left != 0) refuse("is damaged: there is more behind its kernels");
}

}  // namespace

std::string BundleTarget::text() const {
  return device.empty() ? architecture : fmt::format("{} ({})", device, architecture);
}

std::string bundle_head(const BundleIndex& index) {
  std::string plain;
  json::to_cbor(as_json(index), plain);
  const std::string packed = compressed(plain, kBundleCompression);
  const std::string before =
      fmt::format("{}{} {:0{}x} ", kBundleMark, kFormat, packed.size(), kLengthDigits);
  return before + head_hash(before, packed) + "\n" + packed;
}

BundleHead read_bundle_head(std::string_view file) {
  const std::string_view packed = checked_index(file);
  BundleHead head{.index = {}, .bytes = kHeadLine + packed.size()};
  const std::optional<std::string> plain = decompressed(packed, kMostIndexBytes);
  if (!plain) refuse("is damaged: its index cannot be read");
  const std::optional<json> index = parsed_cbor(*plain, kIndexLimits);
  if (!index) refuse("is damaged: its index cannot be read");
  try {
    head.index = index_from(*index);
  } catch (const json::exception&) {
    refuse("is damaged: its index cannot be read");
  } catch (const Error&) {
    refuse("is damaged: its index cannot be read");
  }
  check_kernels(head.index, file.size() - head.bytes);
  return head;
}

std::string bundled_kernel_hash(const std::string& key, std::string_view bytes) {
  return content_hash(key + std::string(bytes));
}

}  // namespace autotune
