#include "data.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace autotune {
namespace {

using Random = std::mt19937_64;
using Element = std::function<float(Random&)>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float uniform(Random& random) {
  return std::uniform_real_distribution<float>(-1, 1)(random);
}
float positive(Random& random) {
  return std::uniform_real_distribution<float>(0, 1)(random);
}
float normal(Random& random) {
  return std::normal_distribution<float>()(random);
}
// Draws values of both signs; the logarithm of the magnitude has this standard deviation.
template <int kSpread>
float lognormal(Random& random) {
  const float magnitude = std::exp(static_cast<float>(kSpread) * normal(random));
  return uniform(random) < 0 ? -magnitude : magnitude;
}

std::vector<float> filled(std::int64_t count, const Element& element, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = element(random);
  return values;
}

template <float (*kElement)(Random&)>
Operands independent(const GemmProblem& p) {
  Random random(static_cast<std::uint64_t>(p.k));
  std::vector<float> a = filled(p.m * p.k, kElement, random);
  return {p, std::move(a), filled(p.k * p.n, kElement, random)};
}

// Uniform, but for one element of each row of A, in the same column, times a row of B that is
// uniform too or zero: then the result depends on the small elements alone.
template <int kExponent, bool kTimesZero>
Operands outlier(const GemmProblem& p) {
  Operands data = independent<uniform>(p);
  const std::int64_t at = p.k / 3;
  for (std::int64_t row = 0; row < p.m; ++row) {
    float& value = data.a[static_cast<std::size_t>(row * p.k + at)];
    value = std::pow(10.0F, static_cast<float>(kExponent)) * (1 + value / 8);
  }
  for (std::int64_t i = 0; kTimesZero && i < p.n; ++i) {
    data.b[static_cast<std::size_t>(at * p.n + i)] = 0;
  }
  return data;
}

// The second half of K takes away what the first half adds, but for a thousandth.
Operands cancelling(const GemmProblem& p) {
  Operands data = independent<uniform>(p);
  Random random(1);
  const std::int64_t half = p.k / 2;
  for (std::int64_t k = 0; k < half; ++k) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      const auto at = static_cast<std::size_t>(row * p.k + k);
      data.a[at + static_cast<std::size_t>(half)] = data.a[at] * (1 + 1e-3F * uniform(random));
    }
    for (std::int64_t column = 0; column < p.n; ++column) {
      data.b[static_cast<std::size_t>((k + half) * p.n + column)] =
          -data.b[static_cast<std::size_t>(k * p.n + column)];
    }
  }
  return data;
}

// One element in 500 is one of these.
Operands with(const GemmProblem& p, std::initializer_list<float> values) {
  Operands data = independent<uniform>(p);
  Random random(2);
  for (std::vector<float>* operand : {&data.a, &data.b}) {
    for (std::size_t i = random() % 500; i < operand->size(); i += 1 + random() % 1000) {
      (*operand)[i] = *(values.begin() + random() % values.size());
    }
  }
  return data;
}

Operands infinities(const GemmProblem& p) {
  return with(p, {kInfinity, -kInfinity});
}
Operands not_numbers(const GemmProblem& p) {
  return with(p, {std::numeric_limits<float>::quiet_NaN(), kInfinity, 0});
}
Operands subnormals(const GemmProblem& p) {
  Operands data = independent<normal>(p);
  for (float& value : data.a) value *= 0x1p-130F;
  return data;
}
// Half of the sums are beyond the range, and half of the others have steps that are.
Operands overflowing(const GemmProblem& p) {
  Operands data = independent<normal>(p);
  const float scale =
      std::sqrt(std::numeric_limits<float>::max() / std::sqrt(static_cast<float>(p.k)));
  for (float& value : data.a) value *= scale;
  for (float& value : data.b) value *= scale;
  return data;
}

const KindOfData kKinds[] = {{"uniform (-1, 1)", independent<uniform>},
                             {"uniform (0, 1)", independent<positive>},
                             {"normal", independent<normal>},
                             {"lognormal, spread 1", independent<lognormal<1>>},
                             {"lognormal, spread 2", independent<lognormal<2>>},
                             {"lognormal, spread 4", independent<lognormal<4>>},
                             {"outlier 1e6", outlier<6, false>},
                             {"outlier 1e9", outlier<9, false>},
                             {"outlier 1e6 times 0", outlier<6, true>},
                             {"outlier 1e9 times 0", outlier<9, true>},
                             {"nearly cancelling", cancelling}};
const KindOfData kSpecialKinds[] = {{"infinities", infinities},
                                    {"NaN and infinities", not_numbers},
                                    {"subnormals", subnormals},
                                    {"overflow", overflowing}};

}  // namespace

std::span<const KindOfData> kinds_of_data() {
  return kKinds;
}
std::span<const KindOfData> special_kinds_of_data() {
  return kSpecialKinds;
}

}  // namespace autotune
