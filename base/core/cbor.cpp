#include "core/cbor.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

namespace autotune {
namespace {

// The first byte of a value has its kind, and its number or the length of that.
struct Head {
  unsigned kind = 0;
  std::uint64_t number = 0;  // an integer, or the length of a string, array or object
};

std::optional<Head> take_head(std::string_view& bytes) {
  constexpr std::array<std::size_t, 4> kLengths = {1, 2, 4, 8};
  constexpr unsigned kFirstLength = 24;
  if (bytes.empty()) return std::nullopt;
  const unsigned first = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  const unsigned low = first & 31U;
  Head head{first >> 5U, low};
  if (low < kFirstLength) return head;
  const std::size_t which = low - kFirstLength;
  if (which >= kLengths.size() || bytes.size() < kLengths[which]) return std::nullopt;
  head.number = 0;
  for (std::size_t i = 0; i < kLengths[which]; ++i) {
    head.number = head.number << 8U | static_cast<unsigned char>(bytes[i]);
  }
  bytes.remove_prefix(kLengths[which]);
  return head;
}

enum Kind { kBytes = 2, kText = 3, kArray = 4, kObject = 5, kTag = 6 };

// As take_head(). Neither tags nor lengths beyond the bytes that are left are taken.
std::optional<Head> take_bounded_head(std::string_view& bytes) {
  const std::optional<Head> head = take_head(bytes);
  if (!head || head->kind == kTag) return std::nullopt;
  const bool has_length = head->kind >= kBytes && head->kind <= kObject;
  if (has_length && head->number > bytes.size()) return std::nullopt;
  return head;
}

// The parser recurses into arrays, objects and strings of pieces, and a value takes more memory
// than the byte that it may have. So this pass goes over the bytes first, without recursion.
bool is_within(std::string_view bytes, const CborLimits& limits) {
  std::vector<std::uint64_t> left = {1};  // values, of each array and object that is open
  for (std::size_t values = 1; !left.empty(); ++values) {
    const std::optional<Head> head = take_bounded_head(bytes);
    if (values > limits.values || !head) return false;
    --left.back();
    if (head->kind == kBytes || head->kind == kText) bytes.remove_prefix(head->number);
    if (head->kind == kArray || head->kind == kObject) {
      if (left.size() > limits.depth) return false;
      left.push_back(head->kind == kArray ? head->number : 2 * head->number);
    }
    while (!left.empty() && left.back() == 0) left.pop_back();
  }
  return bytes.empty();
}

}  // namespace

std::optional<nlohmann::json> parsed_cbor(std::string_view bytes, const CborLimits& limits) {
  if (!is_within(bytes, limits)) return std::nullopt;
  nlohmann::json value = nlohmann::json::from_cbor(bytes, /*strict=*/true,
                                                   /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

}  // namespace autotune
