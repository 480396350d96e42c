#include "core/problem.hpp"

#include <set>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::Problem;

namespace {

Problem gemm(std::int64_t m, std::int64_t n, const std::string& layout = "NN") {
  return {"gemm", {{"m", m}, {"n", n}}, {{"type", "f32"}, {"layout", layout}}};
}

}  // namespace

TEST_SUITE("Problem") {
  TEST_CASE("the key names everything, sizes first") {
    CHECK(gemm(512, 64).key() == "gemm m=512 n=64 type=f32 layout=NN");
    CHECK(to_string(gemm(512, 64)) == "gemm 512x64 f32 NN");
  }

  TEST_CASE("a key reads back as the same problem") {
    const Problem before = gemm(512, 64, "TN");
    const Problem read = Problem::parse(before.key());
    CHECK(read == before);
    CHECK(read.sizes() == before.sizes());
    CHECK(read.traits() == before.traits());
    CHECK(read.size("n") == 64);
    CHECK(read.trait("layout") == "TN");
    CHECK(Problem::parse(Problem().key()) == Problem());
  }

  TEST_CASE("problems that differ in anything have other keys") {
    const std::set<Problem> different = {
        gemm(512, 64),
        gemm(64, 512),
        gemm(512, 64, "NT"),
        {"copy", gemm(512, 64).sizes(), gemm(512, 64).traits()},
        {"gemm", {{"m", 512}, {"k", 64}}, gemm(512, 64).traits()},
        {"gemm", gemm(512, 64).sizes(), {{"type", "f64"}, {"layout", "NN"}}},
        Problem()};
    CHECK(different.size() == 7);
  }

  TEST_CASE("problems are in the order of their sizes as numbers") {
    CHECK(gemm(9, 1) < gemm(10, 1));
    CHECK(gemm(9, 1) < gemm(9, 1, "TN"));
    CHECK(same_traits(gemm(9, 1), gemm(10, 1)));
    CHECK_FALSE(same_traits(gemm(9, 1), gemm(9, 1, "TN")));
  }

  TEST_CASE("what is not a key is refused") {
    for (const char* text : {"gemm m", "gemm m=", "gemm m=1x", "gemm type=f32 m=1", "gemm  m=1",
                             "gemm m=99999999999999999999", "gemm m=1 type=a;b", "ge\nmm m=1"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(static_cast<void>(Problem::parse(text)), autotune::Error);
    }
    CHECK_THROWS_AS(static_cast<void>(gemm(1, 1).size("k")), autotune::Error);
    CHECK_THROWS_AS(Problem("gemm", {}, {{"type", "2"}}), autotune::Error);
  }
}
