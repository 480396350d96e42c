// Sectors and wavefronts of known patterns, by the rules that NVIDIA's guides give.
#include "cpu/access_pattern.hpp"

#include <iterator>

#include <doctest/doctest.h>

namespace autotune {
namespace {

// Lane l starts at `first` + l * `stride`, in elements of 4 bytes.
WarpAccess strided(MemorySpace space, std::int64_t stride, std::int64_t width = 1,
                   std::int64_t first = 0) {
  WarpAccess access{"access", space, 4 * width, {}};
  for (std::int64_t lane = 0; lane < 32; ++lane)
    access.offsets.push_back(4 * (first + lane * stride));
  return access;
}

std::int64_t wavefronts(std::int64_t stride, std::int64_t width = 1) {
  return transactions(strided(MemorySpace::shared, stride, width));
}

std::int64_t sectors(std::int64_t stride, std::int64_t width = 1, std::int64_t first = 0) {
  return transactions(strided(MemorySpace::global, stride, width, first));
}

TEST_SUITE("access pattern") {
  TEST_CASE("a stride of 2^n words makes a 2^n-way bank conflict, an odd one none") {
    CHECK(wavefronts(1) == 1);
    CHECK(wavefronts(2) == 2);
    CHECK(wavefronts(8) == 8);
    CHECK(wavefronts(32) == 32);
    CHECK(wavefronts(64) == 32);
    CHECK(wavefronts(33) == 1);
    CHECK(wavefronts(17) == 1);
  }

  TEST_CASE("lanes that want the same word share it") {
    CHECK(wavefronts(0) == 1);
    WarpAccess two_words = strided(MemorySpace::shared, 0);
    for (std::size_t lane = 16; lane < 32; ++lane) two_words.offsets[lane] = 4 * 32;
    CHECK(transactions(two_words) == 2);  // of one bank
    for (std::size_t lane = 16; lane < 32; ++lane) two_words.offsets[lane] = 4 * 33;
    CHECK(transactions(two_words) == 1);
    CHECK(least_transactions(two_words) == 1);
  }

  TEST_CASE("wide accesses are served a part of the warp at a time") {
    CHECK(wavefronts(2, 2) == 2);
    CHECK(wavefronts(4, 4) == 4);
    CHECK(wavefronts(8, 4) == 8);
    CHECK(wavefronts(36, 4) == 4);
    CHECK(wavefronts(0, 2) == 1);
    CHECK(wavefronts(0, 4) == 2);
    CHECK(least_transactions(strided(MemorySpace::shared, 8, 4)) == 4);
    CHECK(least_transactions(strided(MemorySpace::shared, 32)) == 1);
  }

  // The counts of ncu on an NVIDIA H200 for one load of one warp, in which lane l loads the element
  // of 4, 8 or 16 bytes that the function returns.
  TEST_CASE("wavefronts are those that an H200 counts") {
    static constexpr std::int64_t kHalves[] = {0, 1, 2, 3, 8,  9,  10, 11,
                                               4, 5, 6, 7, 12, 13, 14, 15};
    struct Pattern {
      std::int64_t (*element)(std::int64_t lane);
      std::int64_t counted[3];
    };
    const Pattern patterns[] = {
        {[](std::int64_t l) { return l; }, {1, 2, 4}},
        {[](std::int64_t l) { return 0 * l; }, {1, 1, 2}},
        {[](std::int64_t l) { return l % 16; }, {1, 2, 4}},
        {[](std::int64_t l) { return l % 8; }, {1, 2, 4}},
        {[](std::int64_t l) { return l % 4; }, {1, 2, 4}},
        {[](std::int64_t l) { return l % 2; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 2; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 4; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 8; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 16; }, {1, 1, 2}},
        {[](std::int64_t l) { return 2 * l; }, {2, 4, 8}},
        {[](std::int64_t l) { return 4 * l; }, {4, 8, 16}},
        {[](std::int64_t l) { return kHalves[l % 16] + l / 16 * 16; }, {1, 2, 8}},
        {[](std::int64_t l) { return kHalves[l % 16]; }, {1, 2, 8}},
        {[](std::int64_t l) { return l % 2 * 16 + l / 2; }, {1, 4, 8}},
        {[](std::int64_t l) { return l % 16 + l / 16 * 32; }, {2, 2, 4}},
        {[](std::int64_t l) { return l % 8 + l / 8 * 32; }, {4, 4, 4}},
        {[](std::int64_t l) { return l % 8 + l / 16 * 8; }, {1, 2, 4}},
        {[](std::int64_t l) { return l % 4 + l / 16 * 4; }, {1, 2, 4}},
        {[](std::int64_t l) { return l % 2 + l / 4 * 2; }, {1, 1, 2}},
        {[](std::int64_t l) { return l % 2 + l / 16 * 2; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 8 * 8; }, {1, 2, 4}},
        {[](std::int64_t l) { return l / 8 * 32; }, {4, 4, 4}},
        {[](std::int64_t l) { return l / 16 * 32; }, {2, 2, 2}},
        {[](std::int64_t l) { return l / 4 * 8; }, {2, 4, 8}},
        {[](std::int64_t l) { return l % 4 * 8; }, {1, 4, 16}},
        {[](std::int64_t l) { return l % 8 * 8; }, {2, 8, 32}},
        {[](std::int64_t l) { return l / 2 % 8; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 2 % 8 + l / 16 * 8; }, {1, 1, 2}},
        {[](std::int64_t l) { return l / 8 * 8 + l % 2; }, {1, 2, 4}},
        {[](std::int64_t l) { return 31 - l; }, {1, 2, 4}},
    };
    for (std::size_t pattern = 0; pattern < std::size(patterns); ++pattern) {
      for (std::size_t width = 0; width < 3; ++width) {
        CAPTURE(pattern);
        CAPTURE(width);
        WarpAccess access{"load", MemorySpace::shared, 4LL << width, {}};
        for (std::int64_t lane = 0; lane < 32; ++lane) {
          access.offsets.push_back(access.bytes_per_lane * patterns[pattern].element(lane));
        }
        CHECK(transactions(access) == patterns[pattern].counted[width]);
      }
    }
  }

  TEST_CASE("sectors of rows that are aligned and that are not") {
    CHECK(sectors(1) == 4);
    CHECK(sectors(1, 1, 1) == 5);
    CHECK(sectors(1, 1, 8) == 4);
    CHECK(sectors(4, 4) == 16);
    CHECK(sectors(0) == 1);
    CHECK(sectors(8) == 32);
    CHECK(sectors(1000) == 32);
    CHECK(least_transactions(strided(MemorySpace::global, 8)) == 4);
    CHECK(least_transactions(strided(MemorySpace::global, 0)) == 1);
    CHECK(least_transactions(strided(MemorySpace::global, 4, 4)) == 16);
  }

  TEST_CASE("idle lanes cost nothing") {
    WarpAccess access = strided(MemorySpace::global, 8);
    access.offsets.resize(3);
    CHECK(transactions(access) == 3);
    access.offsets.clear();
    CHECK(transactions(access) == 0);
  }

  TEST_CASE("accesses of one name and width are averaged") {
    WarpAccess other = strided(MemorySpace::shared, 32);
    other.name = "other";
    const auto summaries =
        summarize({strided(MemorySpace::shared, 1), other, strided(MemorySpace::shared, 2),
                   strided(MemorySpace::shared, 2, 2)});
    REQUIRE(summaries.size() == 3);
    CHECK(summaries[0].name == "access");
    CHECK(summaries[0].transactions == 1.5);
    CHECK(summaries[0].least == 1);
    CHECK(summaries[1].name == "other");
    CHECK(summaries[1].transactions == 32);
    CHECK(summaries[2].bytes_per_lane == 8);
    CHECK(summaries[2].transactions == 2);
  }
}

}  // namespace
}  // namespace autotune
