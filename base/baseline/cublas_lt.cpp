#include "baseline/cublas_lt.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/element_type.hpp"

namespace autotune::gpu {
namespace {

// Constants of cublasLt.h, cublas_api.h and library_types.h.
constexpr int kFp32 = 0;           // CUDA_R_32F
constexpr int kTransposeA = 3;     // CUBLASLT_MATMUL_DESC_TRANSA
constexpr int kTransposeB = 4;     // CUBLASLT_MATMUL_DESC_TRANSB
constexpr int kBatchCount = 5;     // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
constexpr int kBatchStride = 6;    // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
constexpr int kMostWorkspace = 1;  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

using Descriptor = std::unique_ptr<void, int (*)(void*)>;

}  // namespace

void check_cublas(int status, const char* call) {
  if (status != 0) throw Error(fmt::format("{} failed with cuBLAS status {}", call, status));
}

int library_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return kFp32;
    case ElementType::f16:
      return 2;  // CUDA_R_16F
    case ElementType::bf16:
      return 14;  // CUDA_R_16BF
    default:
      throw Error("cuBLAS is not called for elements of type " + to_string(type));
  }
}

int compute_type(const GemmProblem& problem) {
  constexpr int kInFp32 = 68;  // CUBLAS_COMPUTE_32F
  constexpr int kInTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32
  return problem.math == Math::tf32 && problem.types == GemmTypes() ? kInTf32 : kInFp32;
}

// The machine may lack cublasLt.h, so the few functions are declared here.
struct CublasLt::Api {
  explicit Api(const SharedLibrary& cublas) : library(cublas) {}

  // cublasLtMatmulHeuristicResult_t.
  struct Candidate {
    std::uint64_t algorithm[8];
    std::size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
  };

  using Set = int (*)(void*, int, const void*, std::size_t);
  const SharedLibrary& library;
  int (*create_operation)(void**, int, int) =
      library.function<decltype(create_operation)>("cublasLtMatmulDescCreate");
  int (*destroy_operation)(void*) =
      library.function<decltype(destroy_operation)>("cublasLtMatmulDescDestroy");
  Set set_operation = library.function<Set>("cublasLtMatmulDescSetAttribute");
  int (*create_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) =
      library.function<decltype(create_layout)>("cublasLtMatrixLayoutCreate");
  int (*destroy_layout)(void*) =
      library.function<decltype(destroy_layout)>("cublasLtMatrixLayoutDestroy");
  Set set_layout = library.function<Set>("cublasLtMatrixLayoutSetAttribute");
  int (*create_preference)(void**) =
      library.function<decltype(create_preference)>("cublasLtMatmulPreferenceCreate");
  int (*destroy_preference)(void*) =
      library.function<decltype(destroy_preference)>("cublasLtMatmulPreferenceDestroy");
  Set set_preference = library.function<Set>("cublasLtMatmulPreferenceSetAttribute");
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, Candidate*,
                   int*) = library.function<decltype(heuristic)>("cublasLtMatmulAlgoGetHeuristic");
  int (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                const void*, void*, void*, void*, const void*, void*, std::size_t,
                CUstream_st*) = library.function<decltype(matmul)>("cublasLtMatmul");

  [[nodiscard]] bool complete() const {
    return create_operation && destroy_operation && set_operation && create_layout &&
           destroy_layout && set_layout && create_preference && destroy_preference &&
           set_preference && heuristic && matmul;
  }

  [[nodiscard]] Descriptor operation(const GemmProblem& problem) const {
    void* made = nullptr;
    check_cublas(create_operation(&made, compute_type(problem), kFp32), "cublasLtMatmulDescCreate");
    Descriptor result(made, destroy_operation);
    const auto transpose = [&](int which, Transpose op) {
      const int operation = op == Transpose::transposed ? 1 : 0;
      check_cublas(set_operation(made, which, &operation, sizeof operation),
                   "cublasLtMatmulDescSetAttribute");
    };
    // As in Cublas::gemm, the first operand is B.
    transpose(kTransposeA, problem.op_b);
    transpose(kTransposeB, problem.op_a);
    return result;
  }

  // A row-major matrix, which is a column-major one transposed.
  [[nodiscard]] Descriptor layout(std::int64_t rows, std::int64_t columns, const Operand& matrix,
                                  ElementType type, std::int64_t batch) const {
    void* made = nullptr;
    check_cublas(create_layout(&made, library_type(type), static_cast<std::uint64_t>(columns),
                               static_cast<std::uint64_t>(rows), matrix.row_stride),
                 "cublasLtMatrixLayoutCreate");
    Descriptor result(made, destroy_layout);
    const auto count = static_cast<std::int32_t>(batch);
    for (const int status :
         {set_layout(made, kBatchCount, &count, sizeof count),
          set_layout(made, kBatchStride, &matrix.matrix_stride, sizeof matrix.matrix_stride)}) {
      check_cublas(status, "cublasLtMatrixLayoutSetAttribute");
    }
    return result;
  }

  [[nodiscard]] Descriptor preference(std::size_t workspace_bytes) const {
    void* made = nullptr;
    check_cublas(create_preference(&made), "cublasLtMatmulPreferenceCreate");
    Descriptor result(made, destroy_preference);
    check_cublas(set_preference(made, kMostWorkspace, &workspace_bytes, sizeof workspace_bytes),
                 "cublasLtMatmulPreferenceSetAttribute");
    return result;
  }
};

// A product with all but the places of its matrices.
struct CublasLt::Product {
  [[nodiscard]] bool is(const GemmProblem& other, const Operand& other_a, const Operand& other_b,
                        const Operand& other_c) const {
    return problem == other && strides == strides_of(other_a, other_b, other_c);
  }
  static std::array<std::int64_t, 6> strides_of(const Operand& a, const Operand& b,
                                                const Operand& c) {
    return {a.row_stride,    b.row_stride,    c.row_stride,
            a.matrix_stride, b.matrix_stride, c.matrix_stride};
  }

  GemmProblem problem;
  std::array<std::int64_t, 6> strides;
  Descriptor operation, layout_a, layout_b, layout_c;
  std::vector<Api::Candidate> candidates;
};

CublasLt::CublasLt(const SharedLibrary& cublas, void* handle, const Stream& stream,
                   const DeviceBuffer& workspace)
    : api_(std::make_unique<Api>(cublas)),
      handle_(handle),
      stream_(stream),
      workspace_(workspace) {}

CublasLt::~CublasLt() = default;

int CublasLt::candidates(const GemmProblem& problem, const Operand& a, const Operand& b,
                         const Operand& c) {
  if (!api_->complete()) return 0;
  try {
    return static_cast<int>(product(problem, a, b, c).candidates.size());
  } catch (const Error&) {
    return 0;
  }
}

void CublasLt::matmul(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
                      float beta, const Operand& c, int candidate) {
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  if (candidate >= candidates(problem, a, b, c)) {
    throw Error(fmt::format("cublasLt's heuristic has no candidate {}", candidate + 1));
  }
  const Product& p = product(problem, a, b, c);
  check_cublas(
      api_->matmul(handle_, p.operation.get(), &alpha, pointer(b.address), p.layout_b.get(),
                   pointer(a.address), p.layout_a.get(), &beta, pointer(c.address),
                   p.layout_c.get(), pointer(c.address), p.layout_c.get(),
                   p.candidates[static_cast<std::size_t>(candidate)].algorithm,
                   pointer(workspace_.address()), workspace_.size(), stream_.handle()),
      "cublasLtMatmul");
}

const CublasLt::Product& CublasLt::product(const GemmProblem& problem, const Operand& a,
                                           const Operand& b, const Operand& c) {
  if (last_ && last_->is(problem, a, b, c)) return *last_;
  const auto layout = [&](Transpose op, std::int64_t rows, std::int64_t columns,
                          const Operand& matrix, ElementType type) {
    if (op == Transpose::transposed) std::swap(rows, columns);
    return api_->layout(rows, columns, matrix, type, problem.batch);
  };
  const GemmTypes& types = problem.types;
  Product made{.problem = problem,
               .strides = Product::strides_of(a, b, c),
               .operation = api_->operation(problem),
               .layout_a = layout(problem.op_a, problem.m, problem.k, a, types.a),
               .layout_b = layout(problem.op_b, problem.k, problem.n, b, types.b),
               .layout_c = layout(Transpose::none, problem.m, problem.n, c, types.c),
               .candidates = std::vector<Api::Candidate>(kMostCandidates)};
  const Descriptor preference = api_->preference(workspace_.size());
  int found = 0;
  check_cublas(api_->heuristic(handle_, made.operation.get(), made.layout_b.get(),
                               made.layout_a.get(), made.layout_c.get(), made.layout_c.get(),
                               preference.get(), kMostCandidates, made.candidates.data(), &found),
               "cublasLtMatmulAlgoGetHeuristic");
  made.candidates.resize(static_cast<std::size_t>(found));
  std::erase_if(made.candidates, [](const auto& candidate) { return candidate.status != 0; });
  last_ = std::make_unique<const Product>(std::move(made));
  return *last_;
}

}  // namespace autotune::gpu
