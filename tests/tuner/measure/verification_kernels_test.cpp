// The device code of verification and the reference of GEMM, run on the CPU.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/element_type.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/kernel_templates/cuda_on_cpu.hpp"
#include "tuner/measure/verification.hpp"

namespace kernels {

using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::threadIdx;
using std::fabs;
using std::fma;
using std::fmax;
using std::isfinite;
using std::min;
using std::rint;

struct {
  unsigned x;
} gridDim;

float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}

unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}

void atomicAdd(unsigned long long* sum, unsigned long long value) {
  *sum += value;
}

#include "tests/tuner/measure/verification_kernels.inc"

}  // namespace kernels

namespace autotune {
namespace {

constexpr std::uint32_t kPoison = 0x7fc0dead;
constexpr std::int64_t kFront = 5;

void launch(std::int64_t blocks, const std::function<void()>& kernel) {
  kernels::gridDim.x = static_cast<unsigned>(blocks);
  cuda_on_cpu::launch({.grid = {blocks, 1, 1}, .block = {kernels::kThreads, 1, 1}}, kernel);
}

std::vector<float> integers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  launch(2, [&] { kernels::fill_integers(out.data(), count, seed); });
  return out;
}

std::vector<float> uniform(std::int64_t count, std::uint64_t seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  launch(2, [&] { kernels::fill_uniform(out.data(), count, seed); });
  return out;
}

// A result of several matrices with `gap` words behind each, and with guard zones on both sides, as
// the check kernels see it.
struct Result {
  std::vector<std::uint32_t> words;
  std::int64_t count;
  std::int64_t of_matrix;
  std::int64_t gap;

  explicit Result(const std::vector<float>& values, std::int64_t matrices = 1,
                  std::int64_t between = 0)
      : words(values.size() + static_cast<std::size_t>(matrices * between + 2 * kFront), kPoison),
        count(std::ssize(values)),
        of_matrix(count / matrices),
        gap(between) {
    for (std::int64_t i = 0; i < count; ++i) {
      set(i + i / of_matrix * gap, values[static_cast<std::size_t>(i)]);
    }
  }
  void set(std::int64_t i, float value) {
    words[static_cast<std::size_t>(kFront + i)] = std::bit_cast<std::uint32_t>(value);
  }
  [[nodiscard]] kernels::Area area() const {
    const std::uint32_t* const elements = words.data() + kFront;
    return {reinterpret_cast<const float*>(elements),
            count,
            of_matrix,
            of_matrix + gap,
            words.data(),
            elements + count + count / of_matrix * gap,
            kFront,
            kPoison};
  }
};

double at(const std::vector<float>& values, std::int64_t i) {
  return static_cast<double>(values[static_cast<std::size_t>(i)]);
}

kernels::Finding found(const std::vector<kernels::Finding>& findings) {
  kernels::Finding all = findings.front();
  for (std::size_t i = 1; i < findings.size(); ++i) kernels::merge(all, findings[i]);
  return all;
}

kernels::Finding check_integers(const Result& result, const std::vector<float>& expected) {
  std::vector<kernels::Finding> findings(2);
  launch(2, [&] { kernels::check_integers(result.area(), expected.data(), findings.data()); });
  return found(findings);
}

kernels::Finding check_real(const Result& result, const std::vector<double>& expected,
                            const std::vector<float>& magnitudes, double bound) {
  std::vector<kernels::Finding> findings(2);
  launch(2, [&] {
    kernels::check_real(result.area(), expected.data(), magnitudes.data(),
                        info(ElementType::f32).unit_roundoff, bound, findings.data());
  });
  return found(findings);
}

// Elements of 16 bits, which the device reads and writes as the host does.
template <typename Element>
int differing_elements(ElementType type) {
  int differing = 0;
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const Element element{static_cast<unsigned short>(bits)};
    const double value = load_element(type, &element);
    if (std::isnan(value)) {
      differing += !std::isnan(kernels::to_double(element));
      continue;
    }
    Element back{};
    kernels::from_double(value, back);
    differing += kernels::to_double(element) != value || back.bits != element.bits;
    // Between this number and its neighbours: at most one rounding to FP32 goes before.
    for (const double factor : {1 + 0x1p-9, 1 + 0x1p-8, 1 + 0x1p-12, 1 + 0x1p-11}) {
      Element host{};
      store_element(type, &host, value * factor);
      kernels::from_double(value * factor, back);
      differing += back.bits != host.bits;
    }
  }
  return differing;
}

TEST_SUITE("VerificationKernels") {
  TEST_CASE("host and device agree on elements of 16 bits") {
    CHECK(differing_elements<kernels::__half>(ElementType::f16) == 0);
    CHECK(differing_elements<kernels::__nv_bfloat16>(ElementType::bf16) == 0);
    kernels::__nv_bfloat16 no_number{};
    kernels::from_double(std::numeric_limits<double>::quiet_NaN(), no_number);
    CHECK(std::isnan(kernels::to_double(no_number)));
  }

  TEST_CASE("host and device agree on integers") {
    for (const double value : {0.0, -2.0, 2147483647.0, -2147483648.0, 0.5, 1.5, -2.5, 2.6}) {
      std::int32_t host = 0;
      store_element(ElementType::i32, &host, value);
      int device = 0;
      kernels::from_double(value, device);
      CHECK(device == host);
      CHECK(kernels::to_double(device) == load_element(ElementType::i32, &host));
    }
  }

  TEST_CASE("host and device agree on what a finding is") {
    CHECK(sizeof(kernels::Finding) == sizeof(Finding));
    CHECK(offsetof(kernels::Finding, reference_squares) == offsetof(Finding, reference_squares));
    CHECK(offsetof(kernels::Finding, wrong) == offsetof(Finding, wrong));
    CHECK(offsetof(kernels::Finding, outside) == offsetof(Finding, outside));
  }

  TEST_CASE("integers take all five values about equally often") {
    const std::vector<float> data = integers(10000, 1);
    for (const float value : {-2.0f, -1.0f, 0.0f, 1.0f, 2.0f}) {
      const auto times = std::count(data.begin(), data.end(), value);
      CHECK(times > 1800);
      CHECK(times < 2200);
    }
  }

  TEST_CASE("uniform data fills the interval without a zero") {
    const std::vector<float> data = uniform(10000, 1);
    double sum = 0;
    for (const float value : data) {
      CHECK(std::abs(value) < 1);
      CHECK(value != 0);
      sum += value;
    }
    CHECK(std::abs(sum / 10000) < 0.03);
    CHECK(*std::min_element(data.begin(), data.end()) < -0.99f);
    CHECK(*std::max_element(data.begin(), data.end()) > 0.99f);
    CHECK(std::set<float>(data.begin(), data.end()).size() > 9900);
  }

  TEST_CASE("a seed gives the same data again and another seed other data") {
    CHECK(uniform(1000, 3) == uniform(1000, 3));
    CHECK(uniform(1000, 3) != uniform(1000, 4));
  }

  TEST_CASE("linear data runs from one end towards the other") {
    std::vector<float> out(4);
    launch(1, [&] { kernels::fill_linear(out.data(), 4, 1.0, 0.0); });
    CHECK(out == std::vector<float>{1.0f, 0.75f, 0.5f, 0.25f});
  }

  TEST_CASE("the references are right whichever way operands lie") {
    constexpr std::int64_t kM = 70;
    constexpr std::int64_t kN = 130;
    constexpr std::int64_t kK = 37;
    constexpr std::int64_t kBatch = 2;
    for (const char* layout : {"NN", "TT"}) {
      CAPTURE(layout);
      GemmProblem problem{.m = kM, .n = kN, .k = kK, .batch = kBatch};
      set_layout(problem, layout);
      const std::vector<float> a_data = integers(kBatch * kM * kK, 1);
      const std::vector<float> b_data = integers(kBatch * kK * kN, 2);
      const Operation gemm = gemm_operation();
      const std::vector<std::int64_t> numbers = gemm.reference_numbers(problem);
      REQUIRE(numbers.size() == 9);
      const std::int64_t a_row = numbers[3];
      const std::int64_t a_column = numbers[4];
      const std::int64_t b_row = numbers[5];
      const std::int64_t b_column = numbers[6];
      const auto with_arguments = [&](auto kernel, auto... outputs) {
        launch(gemm.reference_blocks(problem), [&] {
          kernel(a_data.data(), b_data.data(), numbers[0], numbers[1], numbers[2], a_row, a_column,
                 b_row, b_column, numbers[7], numbers[8], outputs...);
        });
      };

      std::vector<float> exact(kBatch * kM * kN);
      std::vector<double> sums(kBatch * kM * kN);
      std::vector<float> magnitudes(kBatch * kM * kN);
      with_arguments(kernels::reference::reference_integers, exact.data());
      with_arguments(kernels::reference::reference_real, sums.data(), magnitudes.data());

      int wrong = 0;
      for (std::int64_t i = 0; i < kBatch * kM * kN; ++i) {
        double sum = 0;
        double magnitude = 0;
        const std::int64_t of_batch = i / (kM * kN);
        const std::int64_t row = i / kN % kM;
        for (std::int64_t p = 0; p < kK; ++p) {
          const double product = at(a_data, of_batch * kM * kK + row * a_row + p * a_column) *
                                 at(b_data, of_batch * kK * kN + p * b_row + i % kN * b_column);
          sum += product;
          magnitude += std::abs(product);
        }
        const auto at_i = static_cast<std::size_t>(i);
        if (exact[at_i] != sum || sums[at_i] != sum || magnitudes[at_i] != magnitude) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("integers must be equal and nothing outside may change") {
    const std::vector<float> expected = integers(600, 5);
    Result result(expected);
    CHECK(check_integers(result, expected).wrong == 0);
    CHECK(check_integers(result, expected).outside == 0);

    result.set(599, expected[599] + 1);
    result.set(17, std::bit_cast<float>(kPoison));  // never written
    kernels::Finding finding = check_integers(result, expected);
    CHECK(finding.wrong == 2);
    CHECK(finding.first_wrong == 17);
    CHECK(finding.outside == 0);

    result.set(-1, 0);
    result.set(600, 0);
    finding = check_integers(result, expected);
    CHECK(finding.outside == 2);
  }

  TEST_CASE("every matrix of a batch is compared, and what lies between them may not change") {
    const std::vector<float> expected = integers(600, 5);
    Result result(expected, 3, 4);  // matrices begin at 0, 204 and 408
    CHECK(check_integers(result, expected).wrong == 0);
    CHECK(check_integers(result, expected).outside == 0);
    result.set(408, expected[400] + 1);
    CHECK(check_integers(result, expected).first_wrong == 400);
    for (const std::int64_t between : {200, 203, 404, 608, 611}) {
      Result changed(expected, 3, 4);
      changed.set(between, 0);
      CAPTURE(between);
      CHECK(check_integers(changed, expected).outside == 1);
      CHECK(check_integers(changed, expected).wrong == 0);
    }
  }

  TEST_CASE("errors are taken relative to the magnitudes") {
    const std::vector<double> expected = {1, -2, 0};
    const std::vector<float> magnitudes = {1, 4, 2};
    Result result({1, -2, 0});
    result.set(1, -2 + 0x1p-21f);  // 8 u, of 4 u allowed for each unit of the bound
    kernels::Finding finding = check_real(result, expected, magnitudes, 2);
    CHECK(finding.wrong == 0);
    CHECK(finding.max_error_ratio == 2);
    CHECK(finding.error_squares == 0x1p-42);
    CHECK(finding.reference_squares == 5);

    finding = check_real(result, expected, magnitudes, 1.5);
    CHECK(finding.wrong == 1);
    CHECK(finding.first_wrong == 1);
  }

  TEST_CASE("NaN is wrong and leaves the error figures alone") {
    const std::vector<double> expected = {1, 1, 1, 0};
    const std::vector<float> magnitudes = {1, 1, 1, 0};
    Result result(
        {1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1});
    const kernels::Finding finding = check_real(result, expected, magnitudes, 10);
    CHECK(finding.wrong == 3);  // the last: an error where no product is anything but zero
    CHECK(finding.max_error_ratio == 0);
    CHECK(finding.error_squares == 0);
  }

  TEST_CASE("host and device judge by tolerances in the same way") {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (const double result : {0.0, 1.0, 1.5, -1.0, kInf, -kInf, kNan}) {
      for (const double expected : {0.0, 1.0, -1.0, kInf, -kInf, kNan}) {
        for (const Tolerance& tolerance : {Tolerance{}, Tolerance{0.25, 0.25}, Tolerance{0, 0.1}}) {
          const double here = tolerance_ratio(result, expected, tolerance);
          const double there =
              kernels::tolerance_ratio(result, expected, tolerance.absolute, tolerance.relative);
          CHECK((here == there || (std::isnan(here) && std::isnan(there))));
        }
      }
    }
  }

  TEST_CASE("elements must be as near as the tolerance says") {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const auto check = [](const Result& result, const std::vector<float>& expected,
                          double absolute = 0.5) {
      std::vector<kernels::Finding> findings(2);
      launch(2, [&] {
        kernels::check_tolerance(result.area(), expected.data(), absolute, 0.25, findings.data());
      });
      return found(findings);
    };
    const std::vector<float> expected = {4, 4, kNan, kInf, kInf, 1, 1};
    const kernels::Finding finding = check(Result({5, 6, kNan, kInf, -kInf, kNan, 1}), expected);
    CHECK(finding.wrong == 3);
    CHECK(finding.first_wrong == 1);
    CHECK(finding.max_error_ratio == 4.0 / 3);
    CHECK(finding.error_squares == 5);
    CHECK(check(Result({5, 4, kNan, kInf, kInf, 1.75F, 1}), expected).wrong == 0);
    const kernels::Finding any = check(Result({5, 6, kNan, kInf, -kInf, kNan, 1}), expected, kInf);
    CHECK(any.wrong == 0);
    CHECK(any.error_squares == 0);
  }

  TEST_CASE("elements that were not written are counted, in batches too") {
    Result result(std::vector<float>(600, 1), 2, 3);
    const float poison = std::bit_cast<float>(kPoison);
    const auto unwritten = [&] {
      std::vector<kernels::Finding> findings(2);
      launch(2, [&] { kernels::check_written(result.area(), findings.data()); });
      return found(findings);
    };
    CHECK(unwritten().wrong == 0);
    result.set(303, poison);  // the first element of the second matrix
    result.set(304, poison);
    CHECK(unwritten().wrong == 2);
    CHECK(unwritten().first_wrong == 300);
  }

  TEST_CASE("the sum of data depends on every piece and its place") {
    std::vector<unsigned short> pieces(2000);
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<unsigned short>(i / 2);
    const auto sum = [&] {
      unsigned long long all = 0;
      launch(2, [&] { kernels::add_up(pieces.data(), std::ssize(pieces), &all); });
      return all;
    };
    const unsigned long long before = sum();
    CHECK(sum() == before);
    std::swap(pieces[100], pieces[1999]);
    CHECK(sum() != before);
    std::swap(pieces[100], pieces[1999]);
    ++pieces[0];
    CHECK(sum() != before);
  }
}

}  // namespace
}  // namespace autotune
