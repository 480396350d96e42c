// Matrix multiplication as an operation, compared with its definition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "operation/gemm/gemm.hpp"
#include "operation/memory_requirement.hpp"
#include "operation/problem_data.hpp"

namespace autotune {
namespace {

constexpr ElementType kTypes[] = {ElementType::f64, ElementType::f32, ElementType::bf16,
                                  ElementType::f16};
constexpr const char* kLayouts[] = {"NN", "NT", "TN", "TT"};

const Operation& gemm() {
  return gemm_operation();
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

TEST_SUITE("GEMM operation") {
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
    CHECK(bytes_needed(gemm().tensors(batch), gpu) >
          9 * bytes_needed(gemm().tensors(one), gpu) -
              9 * 2 * static_cast<double>(guard_bytes(tensors[kGemmC])));
    constexpr std::int64_t kMost = 2147483647;
    const GemmProblem most{.m = 65536, .n = 32767, .k = 65536, .batch = 1 << 30};
    CHECK(bytes_needed(gemm().tensors(most), gpu) > 1e19);
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

  TEST_CASE(
      "results of 16 bits may be wrong by a rounding of their own and by their sums' errors") {
    GemmProblem product{.m = 1, .n = 1, .k = 10'000};
    product.types = types_from_string("bf16");
    CHECK(gemm().error_bound(product, InputData::uniform) == 1.01);
    // 804 units of FP32 are as many 65536ths of BF16's.
    CHECK(gemm().reference_numbers(product).back() == 804 << 14);
    CHECK(gemm().error_bound(product, InputData::linear) ==
          doctest::Approx(1.01 * (1 + 20'003 / 65'536.0)));
    product.types = types_from_string("f16-f32");
    CHECK(gemm().error_bound(product, InputData::uniform) == 804);
    CHECK(gemm().reference_numbers(product).back() == 0);
  }

  TEST_CASE("code depends on the types of the elements") {
    using Macros = std::vector<std::string>;
    GemmProblem product{.m = 1, .n = 2, .k = 3};
    product.types = types_from_string("bf16-f32");
    CHECK(gemm().code_macros(product) ==
          Macros{"TRANSPOSE_A=0", "TRANSPOSE_B=0", "ELEMENT_A=__nv_bfloat16",
                 "ELEMENT_B=__nv_bfloat16", "ELEMENT_C=float", "ELEMENT_ACC=float"});
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

  TEST_CASE("the reference is told sizes and strides, and has a block a tile") {
    using Numbers = std::vector<std::int64_t>;
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "NN")) == Numbers{2, 3, 5, 5, 1, 3, 1, 1, 0});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "NT")) == Numbers{2, 3, 5, 5, 1, 1, 5, 1, 0});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "TN")) == Numbers{2, 3, 5, 1, 2, 3, 1, 1, 0});
    CHECK(gemm().reference_numbers(problem(2, 3, 5, "TT")) == Numbers{2, 3, 5, 1, 2, 1, 5, 1, 0});
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

TEST_SUITE("problem_data") {
  TEST_CASE("all that an operation says of a problem is in its data") {
    const Problem given = problem(70, 67, 300, "TN");
    const ProblemData data = problem_data(gemm(), given, InputData::linear);
    CHECK(data.text == "70x67x300 TN");
    CHECK(data.tensors == gemm().tensors(given));
    CHECK(data.sizes == std::vector<std::int64_t>{70, 67, 300});
    CHECK(data.scalars == gemm().scalars);
    CHECK(data.work.operations == gemm().work(given).operations);
    CHECK(data.work.bytes == gemm().work(given).bytes);
    CHECK(data.error_bound == 303);
    CHECK(data.reference.source == gemm().reference_source);
    CHECK(data.reference.numbers == gemm().reference_numbers(given));
    CHECK(data.reference.blocks == 4);
    CHECK(problem_data(gemm(), given, InputData::uniform).error_bound < 80);
  }

  TEST_CASE("one product has the same results by any arithmetic") {
    const auto data_of = [](const GemmProblem& gemm_problem) {
      return problem_data(gemm(), gemm_problem, InputData::uniform);
    };
    const GemmProblem strict{.m = 64, .n = 32, .k = 16};
    GemmProblem other = strict;
    other.math = Math::tf32;
    CHECK(same_results(data_of(strict), data_of(other)));
    other.op_a = Transpose::transposed;
    CHECK_FALSE(same_results(data_of(strict), data_of(other)));
  }

  TEST_CASE("an operation may be checked by a kernel, within tolerances") {
    Operation described = gemm();
    described.reference_source = {};
    described.error_bound = {};
    const auto data_of = [&] { return problem_data(described, problem(2, 3, 4), {}); };
    CHECK_THROWS_WITH_AS(static_cast<void>(data_of()),
                         "the operation gemm has no reference for its output c", Error);
    described.contents = [](const Problem&) {
      return std::vector<TensorContent>{
          {}, {}, {.expected = "c.npy", .tolerance = Tolerance{0, 0.5}}};
    };
    CHECK(data_of().has_tolerances());
    CHECK(data_of().tolerance(2) == Tolerance{0, 0.5});
    CHECK(data_of().tolerance(0) == default_tolerance(ElementType::f32));
    described.contents = [](const Problem&) {
      constexpr double kAny = std::numeric_limits<double>::infinity();
      return std::vector<TensorContent>{{}, {}, {.tolerance = Tolerance{kAny, 0}}};
    };
    CHECK_FALSE(data_of().contents[2].is_checked());  // so it needs no reference
    described.contents = {};
    described.launched_reference = [](const Problem&) {
      return LaunchedReference{.name = "plain"};
    };
    described.numbers = [](const Problem&) { return std::vector<std::int64_t>{7, -8}; };
    const ProblemData data = data_of();
    CHECK(data.contents.empty());
    CHECK(data.launched_reference->name == "plain");
    CHECK(data.sizes == std::vector<std::int64_t>{7, -8});
    described.contents = [](const Problem&) { return std::vector<TensorContent>(2); };
    CHECK_THROWS_WITH_AS(static_cast<void>(data_of()),
                         "the operation gemm has contents of other tensors than its own", Error);
  }

  TEST_CASE("what a reference kernel is launched with belongs to the results") {
    Operation described = gemm();
    described.reference_source = {};
    described.launched_reference = [](const Problem&) { return LaunchedReference{}; };
    const ProblemData data = problem_data(described, problem(2, 3, 4), {});
    CHECK(same_results(data, data));
    ProblemData other = data;
    other.sizes[0] = 9;
    CHECK_FALSE(same_results(data, other));
    other = data;
    other.contents.resize(3);
    CHECK_FALSE(same_results(data, other));
    other = data;
    other.launched_reference->source = "another";
    CHECK_FALSE(same_results(data, other));
  }

  TEST_CASE("an operation without an output is refused") {
    Operation none = gemm();
    none.tensors = [](const Problem&) {
      return std::vector<TensorDesc>{{.name = "a", .rows = 1, .columns = 1, .row_stride = 1}};
    };
    CHECK_THROWS_WITH_AS(
        static_cast<void>(problem_data(none, problem(1, 1, 1), InputData::uniform)),
        "the operation gemm has no output", Error);
  }
}

TEST_SUITE("typed forms of problems") {
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
