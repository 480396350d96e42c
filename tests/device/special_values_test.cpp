// Kernels that compute on tensor cores, with operands that their parts cannot hold: infinities,
// NaN, outliers, values of a huge range, subnormals. docs/accuracy.md says what comes out.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "gpu/context.hpp"
#include "tests/device/kernel_sample.hpp"
#include "tests/device/operands.hpp"

namespace autotune {
namespace {

// What a template promises of results. A vector is a row of op(A) or a column of op(B).
struct Promise {
  std::string_view kernel;
  Math math = Math::emulated;
  std::int64_t least_k = 1;
  // |error| <= (units + K * units_of_k) * 2^-24 * |A||B|
  double units = 0;
  double units_of_k = 0;
  // Not 0: an element that is smaller than 2^-octaves of the greatest in its vector has the error
  // of one that is not. A vector with more than one of them in `tolerated` elements, or with an
  // infinity or NaN, has the results of FP32.
  int octaves = 0;
  std::size_t tolerated = 64;
  // A vector with smaller elements, except 0, has the results of FP32.
  float least = 0;
  // Smaller elements have the error of one that is not.
  float least_normal = 0;
  // Not 0: the relative Frobenius errors of rows are at most so many times those of FP32.
  double errors = 0;
};

// The first promise of a template whose least_k is at most K holds.
constexpr Promise kPromises[] = {
    {.kernel = "gemm_fp16x3",
     .math = Math::emulated,
     .least_k = 128,
     .units = 12 + 40,
     .units_of_k = 1.0 / 64,
     .octaves = 29,
     .errors = 1.1},
    {.kernel = "gemm_fp16x3",
     .math = Math::emulated,
     .units = 12 + 20,
     .units_of_k = 1.0 / 32,
     .octaves = 10,
     .tolerated = 16,
     .errors = 1.1},
    {.kernel = "gemm_fp16x1", .math = Math::tf32, .units = 0x1p14, .units_of_k = 1, .octaves = 28},
    {.kernel = "gemm_tf32",
     .math = Math::emulated,
     .units = 12 + 16,
     .units_of_k = 1.0 / 8,
     .least = 0x1p-100F,
     .errors = 1.1},
    {.kernel = "gemm_tf32",
     .math = Math::tf32,
     .units = 0x1p14,
     .units_of_k = 1,
     .least_normal = std::numeric_limits<float>::min()},
    {.kernel = "gemm_tf32_wgmma",
     .math = Math::emulated,
     .units = 12 + 20,
     .units_of_k = 1.0 / 16,
     .least = 0x1p-100F,
     .errors = 1.1},
    {.kernel = "gemm_tf32_wgmma",
     .math = Math::tf32,
     .units = 0x1p14,
     .units_of_k = 1,
     .least_normal = std::numeric_limits<float>::min()},
};

enum class Kind : std::size_t {
  ordinary,
  infinity,
  not_a_number,
  subnormal,
  zero,
  outlier_1e9,
  outlier_1e6,
  lognormal,
  count
};

constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::count)> kKindNames = {
    "ordinary", "infinity", "NaN", "subnormal", "zero", "outlier 1e9", "outlier 1e6", "lognormal"};

std::string_view name_of(Kind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

// Vectors of a kind lie together, so that there are tiles without some kinds. The last vector is in
// a tile that is not full.
Kind kind_of(std::int64_t vector, std::int64_t vectors) {
  constexpr std::int64_t kTogether = 8;
  using enum Kind;
  constexpr Kind kKinds[] = {ordinary, infinity, not_a_number, subnormal,   zero,     ordinary,
                             ordinary, ordinary, outlier_1e9,  outlier_1e6, lognormal};
  if (vector == vectors - 1) return outlier_1e9;
  const auto at = static_cast<std::size_t>(vector / kTogether);
  return at < std::size(kKinds) ? kKinds[at] : ordinary;
}

void fill(std::span<float> vector, Kind kind, std::mt19937& random) {
  fill_uniform(vector, random);
  float& special = vector[vector.size() / 3 + random() % 8];
  std::normal_distribution<float> normal;
  switch (kind) {
    case Kind::infinity:
      special = std::copysign(std::numeric_limits<float>::infinity(), special);
      break;
    case Kind::not_a_number:
      special = std::numeric_limits<float>::quiet_NaN();
      break;
    case Kind::subnormal:  // but greater than all that TF32 rounds to zero
      for (float& x : vector) x = std::copysign((1 + 7 * std::abs(x)) * 0x1p-130F, x);
      break;
    case Kind::zero:
      std::ranges::fill(vector, 0.0F);
      break;
    case Kind::outlier_1e9:
      special = 1e9F * (1 + special / 8);
      break;
    case Kind::outlier_1e6:
      special = 1e6F * (1 + special / 8);
      break;
    case Kind::lognormal:
      for (float& x : vector) x = std::copysign(std::exp(4 * normal(random)), x);
      break;
    case Kind::ordinary:
    case Kind::count:
      break;
  }
}

Operands special_operands(const GemmProblem& problem) {
  Operands operands(problem);
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < problem.m; ++i)
    fill(operands.vector(operands.a, i), kind_of(i, problem.m), random);
  for (std::int64_t i = 0; i < problem.n; ++i) {
    fill(operands.vector(operands.b, i), kind_of(i, problem.n), random);
  }
  return operands;
}

// A vector as a template sees it.
struct Seen {
  bool as_in_fp32 = false;         // its results
  std::vector<double> magnitudes;  // that the errors of its elements are relative to

  Seen(std::span<const float> vector, const Promise& promise) {
    double greatest = 0;
    for (const float x : vector) {
      greatest = std::max(greatest, std::isnan(x) ? HUGE_VAL : std::abs(double{x}));
    }
    double least = promise.least_normal;
    if (promise.octaves > 0 && greatest > 0 && std::isfinite(greatest)) {
      least = std::ldexp(1.0, std::ilogb(greatest) - promise.octaves);
    }
    std::size_t small = 0;
    for (const float x : vector) {
      const double magnitude = std::abs(double{x});
      small += magnitude > 0 && magnitude < least;
      as_in_fp32 |= magnitude > 0 && magnitude < promise.least;
      magnitudes.push_back(magnitude > 0 ? std::max(magnitude, least) : 0);
    }
    as_in_fp32 |= promise.octaves > 0 &&
                  (small > vector.size() / promise.tolerated || !std::isfinite(greatest));
  }
};

std::vector<Seen> seen(const std::vector<float>& vectors, std::int64_t k, const Promise& promise) {
  const auto length = static_cast<std::size_t>(k);
  std::vector<Seen> all;
  for (std::size_t at = 0; at < vectors.size(); at += length) {
    all.emplace_back(std::span(vectors).subspan(at, length), promise);
  }
  return all;
}

// What a kernel's results are compared with.
class Expected {
 public:
  Expected(const Operands& operands, const Promise& promise)
      : problem_(operands.problem), promise_(promise) {
    const std::vector<Seen> rows = seen(operands.a, problem_.k, promise);
    const std::vector<Seen> columns = seen(operands.b, problem_.k, promise);
    const double units = promise.units + promise.units_of_k * static_cast<double>(problem_.k);
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n; ++j) {
        const Seen& row = rows[static_cast<std::size_t>(i)];
        const Seen& column = columns[static_cast<std::size_t>(j)];
        Element element = product(operands.vector(operands.a, i), operands.vector(operands.b, j));
        double magnitude = 0;
        for (std::size_t at = 0; at < row.magnitudes.size(); ++at) {
          magnitude += row.magnitudes[at] * column.magnitudes[at];
        }
        // FP32 has no results between 0 and 2^-149.
        element.bound = units * (0x1p-24 * magnitude + 0x1p-150);
        element.as_in_fp32 = row.as_in_fp32 || column.as_in_fp32;
        elements_.push_back(element);
      }
    }
  }

  // Returns how many results are held to be those of FP32 bit for bit, of the finite ones.
  [[nodiscard]] std::int64_t as_in_fp32() const {
    return std::ranges::count_if(
        elements_, [](const Element& one) { return one.as_in_fp32 && std::isfinite(one.chain); });
  }

  // Returns what is wrong, or nothing.
  [[nodiscard]] std::string fault(const std::vector<float>& results) const {
    std::array<Squares, static_cast<std::size_t>(Kind::count)> of_kinds = {};
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      const Kind of_row = kind_of(row, problem_.m);
      Squares squares;
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        const Kind of_column = kind_of(column, problem_.n);
        const auto at = static_cast<std::size_t>(row * problem_.n + column);
        const Element& want = elements_[at];
        if (!is_right(want, results[at])) {
          return fmt::format(
              "row {} ({}), column {} ({}): {:.9g} and not {:.9g}, as FP32 has it; the sum is "
              "{:.9g}, the bound of the error {:.3g}{}",
              row, name_of(of_row), column, name_of(of_column), results[at], want.chain,
              static_cast<double>(want.sum), want.bound,
              want.as_in_fp32 ? ", but the bits must be the same" : "");
        }
        if (of_column == Kind::ordinary && std::isfinite(want.chain)) {
          squares.add(want, results[at]);
        }
      }
      of_kinds[static_cast<std::size_t>(of_row)].add_relative(squares);
    }
    for (std::size_t at = 0; at < of_kinds.size(); ++at) {
      const Kind kind{at};
      const double own = std::sqrt(of_kinds[at].of_results);
      const double of_chain = std::sqrt(of_kinds[at].of_chain);
      if (promise_.errors > 0 && own > promise_.errors * of_chain) {
        return fmt::format("rows of kind {}: errors are {:.3g} times those of FP32", name_of(kind),
                           own / of_chain);
      }
    }
    return "";
  }

 private:
  struct Element {
    float chain = 0;      // of multiply-adds in FP32, in the order of K
    long double sum = 0;  // nearly exact
    double bound = 0;     // of the error
    bool as_in_fp32 = false;
  };

  // Of a row's errors and sums; or of several rows' relative errors.
  struct Squares {
    double of_results = 0;
    double of_chain = 0;
    double of_sums = 0;

    void add(const Element& element, float result) {
      const auto square = [](long double x) { return static_cast<double>(x * x); };
      of_results += square(result - element.sum);
      of_chain += square(element.chain - element.sum);
      of_sums += square(element.sum);
    }
    void add_relative(const Squares& row) {
      if (row.of_sums == 0) return;
      of_results += row.of_results / row.of_sums;
      of_chain += row.of_chain / row.of_sums;
    }
  };

  static Element product(std::span<const float> row, std::span<const float> column) {
    Element element;
    for (std::size_t at = 0; at < row.size(); ++at) {
      element.chain = std::fma(row[at], column[at], element.chain);
      element.sum += static_cast<long double>(row[at]) * static_cast<long double>(column[at]);
    }
    return element;
  }

  static bool is_right(const Element& want, float result) {
    if (std::isnan(want.chain)) return std::isnan(result);
    if (want.as_in_fp32 || std::isinf(want.chain)) {
      return std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(want.chain);
    }
    return std::abs(result - want.sum) <= want.bound;
  }

  GemmProblem problem_;
  const Promise& promise_;
  std::vector<Element> elements_;
};

const Promise* promise_of(const KernelTemplate& kernel, Math math, std::int64_t k) {
  const auto* const found = std::ranges::find_if(kPromises, [&](const Promise& promise) {
    return promise.kernel == kernel.name && promise.math == math && promise.least_k <= k;
  });
  return found == std::end(kPromises) ? nullptr : found;
}

void check_special_values(const Gpu& gpu, const KernelTemplate& kernel, const Operands& operands,
                          const DeviceProduct& product, Math math) {
  constexpr std::size_t kShare = 32;
  CAPTURE(kernel.name);
  CAPTURE(to_string(math));
  const Promise* const promise = promise_of(kernel, math, operands.problem.k);
  REQUIRE(promise != nullptr);
  const Expected expected(operands, *promise);
  GemmProblem problem = operands.problem;
  problem.math = math;
  const std::vector<Configuration> all = sampled(all_configurations(kernel, gpu.device), kShare);
  CodeTraits traits = code_traits(kernel, problem);
  traits.aligned = false;
  const std::vector<std::string> images = compile_all(gpu, kernel, all, traits);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(to_string(all[i]));
    REQUIRE(!images[i].empty());
    const gpu::Module module(*gpu.driver, images[i]);
    const LaunchGeometry geometry =
        kernel.geometry(all[i], problem).on_device(gpu.device.sm_count).without_maps();
    const gpu::Kernel loaded = module.kernel(kernel.name);
    CHECK(expected.fault(product.result(kernel, loaded, geometry)) == "");
    if (!takes_prepared(kernel, problem)) continue;
    CHECK(expected.fault(product.result(kernel, loaded, geometry, /*prepared=*/3)) == "");
  }
  std::printf("%s %s %s: %zu configurations, %lld finite results as in FP32\n", kernel.name.c_str(),
              to_string(problem).c_str(), to_string(math).c_str(), all.size(),
              static_cast<long long>(expected.as_in_fp32()));
}

// With every template that is not for strict products.
void check_special_layout(const std::string& layout, std::int64_t k) {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu) return;
  const gpu::PrimaryContext context(gpu->driver, 0);
  const gpu::ContextGuard guard(context);
  const gpu::Stream stream(*gpu->driver);
  GemmProblem problem{.m = 131, .n = 257, .k = k};
  set_layout(problem, layout);
  const Operands operands = special_operands(problem);
  const DeviceProduct product(*gpu, stream, operands, /*gap=*/1);
  for (const KernelTemplate* kernel : chosen_templates(gpu->device)) {
    if (computes(*kernel, problem)) continue;
    for (const Math math : {Math::emulated, Math::tf32}) {
      GemmProblem own = problem;
      own.math = math;
      if (!computes(*kernel, own)) continue;
      check_special_values(*gpu, *kernel, operands, product, math);
    }
  }
}

TEST_SUITE("special values on a GPU") {
  TEST_CASE("results are what docs/accuracy.md says, with A and B as they are") {
    check_special_layout("NN", 600);
  }
  TEST_CASE("results are what docs/accuracy.md says, with both transposed") {
    check_special_layout("TT", 1023);
  }
  TEST_CASE("results are what docs/accuracy.md says, with a short K and A transposed") {
    check_special_layout("TN", 93);
  }
  TEST_CASE("results are what docs/accuracy.md says, with a short K and B transposed") {
    check_special_layout("NT", 93);
  }
}

}  // namespace
}  // namespace autotune
