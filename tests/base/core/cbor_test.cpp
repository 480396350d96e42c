#include "core/cbor.hpp"

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace autotune {
namespace {

using nlohmann::json;

std::string repeated(const std::string& bytes, std::size_t count, const std::string& last) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += bytes;
  return result + last;
}

TEST_SUITE("CBOR") {
  TEST_CASE("what was written is read") {
    const json value = {{"empty", json::array()},
                        {"none", nullptr},
                        {"numbers", {0, -1, 23, 24, 255, 65536, 1e300, 4294967296, true, false}},
                        {"object", {{"text", std::string(300, 'x')}, {"", json::object()}}},
                        {"bytes", json::binary({0, 255, 0x7f})}};
    std::string bytes;
    json::to_cbor(value, bytes);
    CHECK(parsed_cbor(bytes) == value);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      CHECK_FALSE(parsed_cbor(bytes.substr(0, length)));
    }
    CHECK_FALSE(parsed_cbor(bytes + "x"));
  }

  TEST_CASE("what is nested too deep, or has too many values, is refused before it takes memory") {
    constexpr std::size_t kMany = 10'000'000;
    const std::string ten_million = {'\x9a', 0, '\x98', '\x96', '\x80'};
    // Arrays, objects, and pieces of text and bytes without a length in each other.
    for (const char* nested : {"\x81", "\xa1\x61x", "\x9f", "\x7f", "\x5f", "\xc1"}) {
      CHECK_FALSE(parsed_cbor(repeated(nested, kMany, "\xf6")));
    }
    CHECK_FALSE(parsed_cbor(ten_million + std::string(kMany, '\x80')));
    CHECK_FALSE(parsed_cbor(ten_million + std::string(kMany, '\xf6')));
    CHECK_FALSE(parsed_cbor("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"));
    CHECK_FALSE(parsed_cbor("\xbb\x80\x01\x01\x01\x01\x01\x01\x01"));
    CHECK(parsed_cbor(repeated("\x81", 8, "\xf6")));
    CHECK_FALSE(parsed_cbor(repeated("\x81", 9, "\xf6")));
    CHECK(parsed_cbor("\x82\xf6\xf6", {.values = 3}));
    CHECK_FALSE(parsed_cbor("\x82\xf6\xf6", {.values = 2}));
  }
}

}  // namespace
}  // namespace autotune
