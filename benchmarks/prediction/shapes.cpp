#include "shapes.hpp"

#include <array>
#include <cmath>

namespace autotune {
namespace {

constexpr std::array<const char*, 4> kLayouts = {"NN", "NT", "TN", "TT"};

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * kStep) {}

  // Uniform in [0, 1).
  double next() {
    state_ += kStep;
    std::uint64_t mixed = (state_ ^ state_ >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return static_cast<double>((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  std::uint64_t state_;
};

std::int64_t random_size(Random& random, bool odd) {
  constexpr double kLeast = 16;
  constexpr double kMost = 8192;
  const auto size = static_cast<std::int64_t>(
      std::lround(kLeast * std::exp2(random.next() * std::log2(kMost / kLeast))));
  return odd ? size | 1 : (size + 2) / 4 * 4;
}

GemmProblem random_shape(Random& random, const char* layout, bool odd) {
  GemmProblem problem;
  set_layout(problem, layout);
  do {
    problem.m = random_size(random, odd);
    problem.n = random_size(random, odd);
    problem.k = random_size(random, odd);
  } while (problem.operations() / 2 > kMostProducts);
  return problem;
}

}  // namespace

std::vector<GemmProblem> random_shapes(std::size_t count, std::uint64_t seed, Math math) {
  Random random(seed);
  std::vector<GemmProblem> shapes;
  for (std::size_t i = 0; i < count; ++i) {
    shapes.push_back(random_shape(random, kLayouts[i / 32 % 4], i % 32 >= 24));
    shapes.back().math = math;
  }
  return shapes;
}

std::vector<GemmProblem> mixed_shapes(std::size_t count, std::uint64_t seed, Math math) {
  Random random(seed);
  std::vector<GemmProblem> shapes;
  for (std::size_t i = 0; i < count; ++i) {
    shapes.push_back(random_shape(random, kLayouts[i % 4], i / 4 % 4 == 3));
    shapes.back().math = math;
  }
  return shapes;
}

}  // namespace autotune
