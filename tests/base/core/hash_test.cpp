#include "core/hash.hpp"

#include <cmath>

#include <doctest/doctest.h>

using autotune::content_hash;
using autotune::FieldHasher;

TEST_SUITE("hash") {
  TEST_CASE("content hash keeps its value") {
    // Stored hashes must hold on every machine and in every version.
    CHECK(content_hash("") == "99aa06d3014798d86001c324468d497f");
    CHECK(content_hash("autotune") != content_hash("autotunf"));
    CHECK(content_hash("autotune").size() == 32);
  }

  TEST_CASE("fields do not run into each other") {
    const auto digest = [](std::string_view first, std::string_view second) {
      return FieldHasher().add(first).add(second).digest();
    };
    CHECK(digest("ab", "c") != digest("a", "bc"));
    CHECK(digest("", "1:x") != digest("1:x", ""));
    CHECK(digest("ab", "c") == digest("ab", "c"));
  }

  TEST_CASE("numbers are hashed by value and sign") {
    CHECK(FieldHasher().add(std::int64_t{12}).digest() == FieldHasher().add("12").digest());
    CHECK(FieldHasher().add(0.0).digest() != FieldHasher().add(-0.0).digest());
    CHECK(FieldHasher().add(0.1).digest() != FieldHasher().add(std::nextafter(0.1, 1)).digest());
  }
}
