// The reference of GEMM as the CPU device compiles and runs it, compared with its definition.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "operation/gemm/gemm.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/measure/cpu_workspace.hpp"

using namespace autotune;

namespace {

MeasureRequest request_for(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout,
                           ElementType type, std::int64_t batch) {
  std::vector<Problem::Size> sizes = {{"m", m}, {"n", n}, {"k", k}};
  if (batch > 1) sizes.push_back({"batch", batch});
  MeasureRequest request;
  test::set_problem(
      request, gemm_operation(),
      Problem(kGemm, sizes, {{"type", to_string(type)}, {"layout", layout}, {"math", "strict"}}));
  return request;
}

// Elements of a part of C whose reference is far from the naive sums.
int wrong_elements(const MeasureRequest& request, CpuWorkspace& workspace, const Rectangle& part,
                   DataSet data) {
  const GemmProblem p = gemm_problem(request.problem);
  const ElementType type = request.data.tensors[kGemmA].type;
  const auto placed = workspace.placed(data);
  const auto value = [&](std::uint8_t tensor, std::int64_t i) {
    return load_element(
        type, reinterpret_cast<const std::byte*>(placed[tensor].address) + i * size_bytes(type));
  };
  const CpuWorkspace::Output& output = workspace.outputs().front();
  int wrong = 0;
  for (std::int64_t row_of_all = part.row; row_of_all < part.row + part.rows; ++row_of_all) {
    for (std::int64_t column = part.column; column < part.column + part.columns; ++column) {
      const std::int64_t product = row_of_all / p.m;
      const std::int64_t row = row_of_all % p.m;
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double term =
            value(kGemmA, product * p.m * p.k +
                              (p.op_a == Transpose::none ? row * p.k + k : k * p.m + row)) *
            value(kGemmB, product * p.k * p.n +
                              (p.op_b == Transpose::none ? k * p.n + column : column * p.k + k));
        sum += term;
        magnitude += std::abs(term);
      }
      const std::int64_t place = row_of_all * p.n + column;
      if (data == DataSet::integers) {
        wrong += output.expected_integers.at(place) != sum;
        continue;
      }
      wrong += !(std::abs(output.expected.at(place) - sum) <= 1e-13 * magnitude);
      // Results of 16 bits are rounded once more: see sum_units in gemm_reference.cu.
      const auto sum_units = static_cast<double>(request.data.reference.numbers.back());
      const double expected =
          sum_units == 0 ? magnitude : std::abs(sum) + sum_units * 0x1p-30 * magnitude;
      wrong += !(std::abs(output.magnitudes.at(place) - expected) <= 1e-6 * expected);
    }
  }
  return wrong;
}

}  // namespace

TEST_SUITE("the reference on the CPU device") {
  TEST_CASE("it is the product in every type and layout") {
    CpuLauncher launcher(2);
    for (const ElementType type :
         {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::f16}) {
      CAPTURE(to_string(type));
      std::optional<CpuReference> kernels;
      for (const char* layout : {"NN", "NT", "TN", "TT"}) {
        CAPTURE(layout);
        // The sums of 40 products of integers are exact in BF16 too, up to 256.
        const MeasureRequest request = request_for(70, 67, 40, layout, type, 1);
        if (!kernels) kernels.emplace(CpuCompiler(), launcher, reference_code(request.data));
        CpuWorkspace workspace(launcher, request);
        for (const DataSet data : {DataSet::integers, DataSet::reals}) {
          workspace.compute_references(*kernels, data);
          CHECK(wrong_elements(request, workspace, {0, 0, 70, 67}, data) == 0);
        }
      }
    }
  }

  TEST_CASE("of a large problem only the blocks that parts need are computed") {
    CpuLauncher launcher(2);
    const MeasureRequest request = request_for(200, 150, 30, "TN", ElementType::f32, 3);
    const CpuReference kernels(CpuCompiler(), launcher, reference_code(request.data));
    CpuWorkspace workspace(launcher, request);
    CpuWorkspace::Output& output = workspace.outputs().front();
    std::fill_n(reinterpret_cast<double*>(output.expected.data()), output.expected.count(), 1e9);
    const std::vector<Rectangle> parts[] = {{{60, 60, 8, 8}, {599, 149, 1, 1}}};
    workspace.compute_references(kernels, DataSet::reals, parts);
    for (const Rectangle& part : parts[0]) {
      CHECK(wrong_elements(request, workspace, part, DataSet::reals) == 0);
    }
    CHECK(output.expected.at(199 * 150 + 140) == 1e9);
    CHECK(output.expected.at(400 * 150 + 140) == 1e9);
    const std::vector<Rectangle> more[] = {{{199, 140, 1, 10}}};
    workspace.compute_references(kernels, DataSet::reals, more);
    CHECK(wrong_elements(request, workspace, more[0][0], DataSet::reals) == 0);
    CHECK(wrong_elements(request, workspace, parts[0][0], DataSet::reals) == 0);
    workspace.compute_references(kernels, DataSet::reals);
    CHECK(wrong_elements(request, workspace, {0, 0, 600, 150}, DataSet::reals) == 0);
  }
}
