// Matrix multiplication as an operation, compared with its definition.
#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "operation/gemm/gemm.hpp"
#include "operation/memory_requirement.hpp"

namespace autotune {
namespace {

constexpr ElementType kTypes[] = {ElementType::f64, ElementType::f32, ElementType::bf16,
                                  ElementType::f16};
constexpr const char* kLayouts[] = {"NN", "NT", "TN", "TT"};

const Operation& gemm() {
  return built_in_operations().at(kGemm);
}

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout = "NN",
                ElementType type = ElementType::f32) {
  return {kGemm,
          {{"m", m}, {"n", n}, {"k", k}},
          {{"type", to_string(type)}, {"layout", layout}, {"math", "strict"}}};
}

using Extents = std::pair<std::int64_t, std::int64_t>;

std::vector<Extents> extents(const std::string& layout) {
  std::vector<Extents> result;
  for (const TensorDesc& tensor : gemm().tensors(problem(2, 3, 5, layout))) {
    result.emplace_back(tensor.rows, tensor.columns);
  }
  return result;
}

// Random elements of a type, as memory has them.
struct Matrix {
  ElementType type;
  std::vector<std::uint64_t> memory;  // aligned for all types

  Matrix(const TensorDesc& tensor, unsigned seed)
      : type(tensor.type), memory(static_cast<std::size_t>(tensor.elements())) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      store_element(type, at(i), uniform(random));
  }
  std::byte* at(std::int64_t i) {
    return reinterpret_cast<std::byte*>(memory.data()) + i * size_bytes(type);
  }
  double value(std::int64_t i) { return load_element(type, at(i)); }
};

// Elements of a part that are far from the naive sums.
int wrong_elements(const Problem& given, const Rectangle& part) {
  const GemmProblem p = gemm_problem(given);
  const std::vector<TensorDesc> tensors = gemm().tensors(given);
  Matrix a(tensors[kGemmA], 1);
  Matrix b(tensors[kGemmB], 2);
  const void* const inputs[] = {a.at(0), b.at(0)};
  ReferenceTile with;
  gemm().reference_tile(given, inputs, part, true, with);
  ReferenceTile without;
  gemm().reference_tile(given, inputs, part, false, without);
  const auto count = static_cast<std::size_t>(part.rows * part.columns);
  REQUIRE(with.values.size() == count);
  REQUIRE(with.magnitudes.size() == count);
  CHECK(without.values == with.values);
  int wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t row_of_all = part.row + static_cast<std::int64_t>(i) / part.columns;
    const std::int64_t row = row_of_all % p.m;
    const std::int64_t product_number = row_of_all / p.m;
    const std::int64_t column = part.column + static_cast<std::int64_t>(i) % part.columns;
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double product =
          a.value(product_number * p.m * p.k +
                  (p.op_a == Transpose::none ? row * p.k + k : k * p.m + row)) *
          b.value(product_number * p.k * p.n +
                  (p.op_b == Transpose::none ? k * p.n + column : column * p.k + k));
      sum += product;
      magnitude += std::abs(product);
    }
    const double tolerance = 1e-13 * magnitude;
    if (!(std::abs(with.values[i] - sum) <= tolerance)) ++wrong;
    if (!(std::abs(with.magnitudes[i] - magnitude) <= tolerance)) ++wrong;
  }
  return wrong;
}

TEST_SUITE("GEMM operation") {
  TEST_CASE("the reference of a batch has each product's own matrices") {
    GemmProblem batch{.m = 5, .n = 9, .k = 130, .batch = 4};
    for (const char* layout : {"NN", "TT"}) {
      set_layout(batch, layout);
      CHECK(wrong_elements(batch, {0, 0, 20, 9}) == 0);
      CHECK(wrong_elements(batch, {7, 2, 9, 3}) == 0);
    }
  }

  TEST_CASE("a batch needs the memory, and does the work, of all of its products") {
    const GemmProblem one{.m = 64, .n = 32, .k = 16};
    GemmProblem batch = one;
    batch.batch = 10;
    CHECK(gemm().work(batch).operations == 10 * gemm().work(one).operations);
    CHECK(gemm().work(batch).bytes == 10 * gemm().work(one).bytes);
    const std::vector<TensorDesc> tensors = gemm().tensors(batch);
    CHECK(tensors[kGemmA].matrices == 10);
    CHECK(tensors[kGemmA].matrix_stride == 64 * 16);
    CHECK(tensors[kGemmC].elements() == 10 * 64 * 32);
    CHECK(with_guard_rows(tensors[kGemmC]).matrix_stride == 64 * 32 + 32);
    CHECK(with_guard_rows({.rows = 3, .columns = 5, .matrices = 2, .matrix_stride = 15})
              .matrix_stride == 15 + 8);
    const DeviceInfo gpu;
    CHECK(bytes_needed(gemm(), batch, gpu) >
          9 * bytes_needed(gemm(), one, gpu) -
              9 * 2 * static_cast<double>(guard_bytes(tensors[kGemmC])));
    constexpr std::int64_t kMost = 2147483647;
    const GemmProblem most{.m = 65536, .n = 32767, .k = 65536, .batch = 1 << 30};
    CHECK(bytes_needed(gemm(), most, gpu) > 1e19);
    CHECK_THROWS_AS(static_cast<void>(gemm().tensors(
                        GemmProblem{.m = kMost, .n = kMost, .k = kMost, .batch = 2})),
                    UsageError);
  }

  TEST_CASE("a problem with a size below 1 is refused") {
    CHECK_NOTHROW(static_cast<void>(gemm_problem(problem(1, 1, 1))));
    for (const auto& [m, n, k] : {std::tuple(0, 1, 1), {1, -5000, 1}, {1, 1, 0}}) {
      CHECK_THROWS_AS(static_cast<void>(gemm().tensors(problem(m, n, k))), Error);
    }
  }

  TEST_CASE("tensors are A and B as memory has them, and C") {
    const std::vector<TensorDesc> tensors = gemm().tensors(problem(2, 3, 5));
    REQUIRE(tensors.size() == 3);
    CHECK(tensors[kGemmA].name == "a");
    CHECK(tensors[kGemmB].name == "b");
    CHECK(tensors[kGemmC].name == "c");
    CHECK(tensors[kGemmA].role == TensorRole::input);
    CHECK(tensors[kGemmB].role == TensorRole::input);
    CHECK(tensors[kGemmC].role == TensorRole::output);
    CHECK(extents("NN") == std::vector<Extents>{{2, 5}, {5, 3}, {2, 3}});
    CHECK(extents("NT") == std::vector<Extents>{{2, 5}, {3, 5}, {2, 3}});
    CHECK(extents("TN") == std::vector<Extents>{{5, 2}, {5, 3}, {2, 3}});
    CHECK(extents("TT") == std::vector<Extents>{{5, 2}, {3, 5}, {2, 3}});
  }

  TEST_CASE("tensors have the problem's type, and rows that nothing pads") {
    for (const ElementType type : kTypes) {
      for (const char* layout : kLayouts) {
        for (const TensorDesc& tensor : gemm().tensors(problem(2, 3, 5, layout, type))) {
          CHECK(tensor.type == type);
          CHECK(tensor.row_stride == tensor.columns);
        }
      }
    }
  }

  TEST_CASE("row strides are those of the typed form") {
    for (const char* layout : kLayouts) {
      const Problem given = problem(2, 3, 5, layout);
      const std::vector<TensorDesc> tensors = gemm().tensors(given);
      CHECK(tensors[kGemmA].row_stride == gemm_problem(given).lda());
      CHECK(tensors[kGemmB].row_stride == gemm_problem(given).ldb());
      CHECK(tensors[kGemmC].row_stride == gemm_problem(given).ldc());
    }
  }

  TEST_CASE("work is two operations a product, and each matrix once") {
    CHECK(gemm().work(problem(2, 3, 5)).operations == 60);
    CHECK(gemm().work(problem(2, 3, 5)).bytes == 4 * (10 + 15 + 6));
    CHECK(gemm().work(problem(2, 3, 5, "TT", ElementType::f64)).bytes == 8 * (10 + 15 + 6));
    CHECK(gemm().work(problem(2, 3, 5, "NT", ElementType::f16)).bytes == 2 * (10 + 15 + 6));
    const Work most = gemm().work(problem(2147483647, 2147483647, 2147483647));
    CHECK(most.operations == doctest::Approx(2 * 9.903520300447984e27));
    CHECK(most.bytes == doctest::Approx(12 * 4.611686014132420609e18));
  }

  TEST_CASE("problems are as far apart as the octaves between their sizes") {
    const auto distance = gemm().distance;
    CHECK(distance(problem(64, 64, 64), problem(64, 64, 64)) == 0);
    CHECK(distance(problem(64, 64, 64), problem(128, 64, 64)) == doctest::Approx(1));
    CHECK(distance(problem(64, 64, 64), problem(128, 32, 256)) == doctest::Approx(4));
    CHECK(distance(problem(128, 64, 64), problem(64, 64, 64)) == doctest::Approx(1));
    CHECK(distance(problem(1, 1, 1), problem(1, 1, 3)) == doctest::Approx(std::log2(3)));
  }

  TEST_CASE("the error bound is the deterministic one for few terms") {
    const auto bound = [](std::int64_t k) {
      return gemm().error_bound(problem(1, 1, k), InputData::uniform);
    };
    CHECK(bound(1) == 4);
    CHECK(bound(9) == 12);
    CHECK(bound(16) == 19);
  }

  TEST_CASE("the error bound grows with the root for many terms") {
    CHECK(gemm().error_bound(problem(1, 1, 100), InputData::uniform) == 44);
    CHECK(gemm().error_bound(problem(1, 1, 10000), InputData::uniform) == 404);
    CHECK(gemm().error_bound(problem(1, 1, 10000), InputData::linear) == 10003);
  }

  TEST_CASE("products of TF32 may have the errors of rounded operands besides") {
    const auto bound = [](std::int64_t k, InputData input) {
      return gemm().error_bound(GemmProblem{.m = 1, .n = 1, .k = k, .math = Math::tf32}, input);
    };
    CHECK(bound(1, InputData::uniform) == 16384 + 4);
    CHECK(bound(10'000, InputData::uniform) == 404 + 1310.72);
    CHECK(bound(10'000, InputData::linear) == 16384 + 10'003);
  }

  TEST_CASE("code depends on the layout, and on whether TF32 is accurate enough") {
    using Macros = std::vector<std::string>;
    CHECK(gemm().code_macros(GemmProblem{.m = 1, .n = 2, .k = 3, .math = Math::tf32}) ==
          Macros{"TRANSPOSE_A=0", "TRANSPOSE_B=0", "MATH_TF32=1"});
    CHECK(gemm().code_macros(problem(1, 2, 3, "NN")) == Macros{"TRANSPOSE_A=0", "TRANSPOSE_B=0"});
    CHECK(gemm().code_macros(problem(1, 2, 3, "NT")) == Macros{"TRANSPOSE_A=0", "TRANSPOSE_B=1"});
    CHECK(gemm().code_macros(problem(1, 2, 3, "TN")) == Macros{"TRANSPOSE_A=1", "TRANSPOSE_B=0"});
    CHECK(gemm().code_macros(problem(4, 5, 6, "TT")) == Macros{"TRANSPOSE_A=1", "TRANSPOSE_B=1"});
  }

  TEST_CASE("text is that of the typed form") {
    CHECK(gemm().text(problem(1024, 512, 2048)) == "1024x512x2048");
    CHECK(gemm().text(problem(1024, 512, 2048, "TN")) == "1024x512x2048 TN");
  }

  TEST_CASE("the reference is the product in every layout and type") {
    for (const ElementType type : kTypes) {
      for (const char* layout : kLayouts) {
        CAPTURE(to_string(type));
        CAPTURE(layout);
        const Problem given = problem(70, 67, 300, layout, type);
        CHECK(wrong_elements(given, {0, 0, 64, 64}) == 0);
        CHECK(wrong_elements(given, {64, 64, 6, 3}) == 0);
        CHECK(wrong_elements(given, {5, 9, 17, 31}) == 0);
        CHECK(wrong_elements(problem(1, 1, 1, layout, type), {0, 0, 1, 1}) == 0);
      }
    }
  }

  TEST_CASE("a part of the reference does not depend on the one before") {
    const Problem given = problem(64, 64, 200);
    CHECK(wrong_elements(given, {0, 0, 64, 64}) == 0);
    CHECK(wrong_elements(given, {3, 3, 2, 2}) == 0);
    CHECK(wrong_elements(given, {0, 0, 64, 64}) == 0);
  }

  TEST_CASE("the reference on a GPU is told sizes and strides, and has a block a tile") {
    using Numbers = std::vector<std::int64_t>;
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "NN")) == Numbers{2, 3, 5, 5, 1, 3, 1, 1});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "NT")) == Numbers{2, 3, 5, 5, 1, 1, 5, 1});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "TN")) == Numbers{2, 3, 5, 1, 2, 3, 1, 1});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "TT")) == Numbers{2, 3, 5, 1, 2, 1, 5, 1});
    CHECK(gemm().reference_blocks(problem(64, 64, 1)) == 1);
    CHECK(gemm().reference_blocks(problem(65, 129, 1)) == 6);
    CHECK(gemm().reference_source.find("reference_integers") != std::string_view::npos);
    CHECK(gemm().reference_source.find("reference_real") != std::string_view::npos);
  }

  TEST_CASE("kernels take thirteen arguments and the maps of A and B behind them") {
    const KernelSignature plain = gemm_signature();
    KernelSignature mapped = gemm_signature({}, true);
    CHECK(plain.size() == 13);
    REQUIRE(mapped.size() == 15);
    CHECK(mapped[13] == KernelArgument{ArgumentKind::tensor_map, kGemmA});
    CHECK(mapped[14] == KernelArgument{ArgumentKind::tensor_map, kGemmB});
    mapped.resize(13);
    CHECK(mapped == plain);
    CHECK(gemm().scalars == std::vector<double>{1, 0});
  }
}

TEST_SUITE("OperationRegistry") {
  TEST_CASE("operations are found by name and by problem") {
    CHECK(built_in_operations().at("gemm").name == "gemm");
    CHECK(&built_in_operations().of(problem(1, 1, 1)) == &gemm());
    CHECK_THROWS_AS(static_cast<void>(built_in_operations().at("attention")), Error);
  }

  TEST_CASE("a problem of another operation has no typed form") {
    CHECK_THROWS_AS(static_cast<void>(gemm_problem(Problem("attention", {{"heads", 8}}, {}))),
                    Error);
  }

  TEST_CASE("the typed form reads back") {
    for (const char* layout : kLayouts) {
      GemmProblem typed{.m = 2, .n = 3, .k = 5};
      set_layout(typed, layout);
      const Problem given = typed;
      CHECK(given == problem(2, 3, 5, layout));
      CHECK(gemm_problem(given) == typed);
    }
  }

  TEST_CASE("the device code has a macro for each tensor's type") {
    CHECK(element_macros(gemm().tensors(problem(1, 1, 1, "NN", ElementType::bf16))) ==
          std::vector<std::string>{"ELEMENT_A=__nv_bfloat16", "ELEMENT_B=__nv_bfloat16",
                                   "ELEMENT_C=__nv_bfloat16"});
    CHECK(element_source().find("to_double") != std::string_view::npos);
  }

  TEST_CASE("a rate is operations over time") {
    CHECK(gflops({.operations = 2e9}, 1e6) == doctest::Approx(2));
  }
}

}  // namespace
}  // namespace autotune
