#include "core/compression.hpp"

#include <doctest/doctest.h>

namespace autotune {
namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

std::string some_text() {
  std::string text;
  for (std::int64_t i = 0; i < 50'000; ++i) text += std::to_string(i * i % 1'013) + ",";
  return text;
}

TEST_SUITE("compression") {
  TEST_CASE("what was compressed comes back, the empty text too") {
    for (const std::string& plain : {std::string(), std::string("a"), some_text()}) {
      const std::string packed = compressed(plain, 3);
      CHECK(is_compressed(packed));
      CHECK(decompressed(packed, kPlenty) == plain);
    }
    CHECK(compressed(some_text(), 3).size() < some_text().size() / 4);
    CHECK_FALSE(is_compressed("{}"));
  }

  TEST_CASE("several streams one behind the other are one text") {
    CHECK(decompressed(compressed("one ", 3) + compressed("two", 19), kPlenty) == "one two");
  }

  TEST_CASE("a part of a stream is none, nor is anything else") {
    const std::string packed = compressed(some_text(), 3);
    for (std::size_t size = 0; size < packed.size(); size += 97) {
      CAPTURE(size);
      CHECK_FALSE(decompressed(packed.substr(0, size), kPlenty));
    }
    CHECK_FALSE(decompressed("{\"results\": []}", kPlenty));
  }

  TEST_CASE("more than is allowed is refused") {
    const std::string plain = some_text();
    const std::string packed = compressed(plain, 3);
    CHECK(decompressed(packed, plain.size()) == plain);
    CHECK_FALSE(decompressed(packed, plain.size() - 1));
  }
}

}  // namespace
}  // namespace autotune
