#include "baseline/cublas.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "gpu/shared_library.hpp"

namespace autotune::gpu {

// The machine may lack cublas_v2.h, so the few functions are declared here.
struct Cublas::Api {
  explicit Api(SharedLibrary opened) : library(std::move(opened)) {}

  using Handle = void*;
  SharedLibrary library;
  int (*create)(Handle*) = library.function<decltype(create)>("cublasCreate_v2");
  int (*destroy)(Handle) = library.function<decltype(destroy)>("cublasDestroy_v2");
  int (*get_version)(Handle, int*) = library.function<decltype(get_version)>("cublasGetVersion_v2");
  int (*set_stream)(Handle,
                    CUstream_st*) = library.function<decltype(set_stream)>("cublasSetStream_v2");
  int (*set_workspace)(Handle, void*, std::size_t) =
      library.function<decltype(set_workspace)>("cublasSetWorkspace_v2");
  int (*set_math_mode)(Handle,
                       int) = library.function<decltype(set_math_mode)>("cublasSetMathMode");
  // These are the functions with sizes of 64 bits, from CUDA 12.0 on.
  int (*sgemm)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const float*,
               const float*, std::int64_t, const float*, std::int64_t, const float*, float*,
               std::int64_t) = library.function<decltype(sgemm)>("cublasSgemm_v2_64");
  int (*sgemm_batched)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const float*,
                       const float*, std::int64_t, std::int64_t, const float*, std::int64_t,
                       std::int64_t, const float*, float*, std::int64_t, std::int64_t,
                       std::int64_t) =
      library.function<decltype(sgemm_batched)>("cublasSgemmStridedBatched_64");
  // With any algorithm, from CUDA 12.0 on; single products are batches of one.
  int (*gemm_batched_ex)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*,
                         const void*, int, std::int64_t, long long, const void*, int, std::int64_t,
                         long long, const void*, void*, int, std::int64_t, long long, std::int64_t,
                         int, int) =
      library.function<decltype(gemm_batched_ex)>("cublasGemmStridedBatchedEx_64");

  [[nodiscard]] bool complete() const {
    return create && destroy && get_version && set_stream && set_workspace && set_math_mode &&
           sgemm && sgemm_batched;
  }
};

namespace {

// The size that NVIDIA recommends for Hopper; otherwise cuBLAS would choose and allocate by itself.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

SharedLibrary open_cublas() {
  const char* chosen = ::secure_getenv("AUTOTUNE_CUBLAS");
  std::vector<std::string> names = {"libcublas.so.13", "libcublas.so.12"};
  for (const std::string& folder : toolkit_folders()) {
    names.push_back(folder + "/libcublas.so.13");
    names.push_back(folder + "/libcublas.so.12");
  }
  if (chosen != nullptr && *chosen != '\0') names = {chosen};
  std::string problem;
  std::optional<SharedLibrary> library = SharedLibrary::open_first(names, &problem);
  if (!library && names.size() == 1) {
    throw EnvironmentError("the cuBLAS that AUTOTUNE_CUBLAS names cannot be opened: " + problem);
  }
  if (!library) {
    throw EnvironmentError(
        "cuBLAS was not found (libcublas.so.13 or .12): install it, or name it in "
        "AUTOTUNE_CUBLAS");
  }
  return std::move(*library);
}

int operation(Transpose op) {
  return op == Transpose::transposed ? 1 : 0;
}

float* matrix(const LaunchValues::Tensor& operand) {
  return reinterpret_cast<float*>(operand.address);
}

}  // namespace

Cublas::Cublas(const Driver& driver, const Stream& stream)
    : api_(std::make_unique<Api>(open_cublas())), handle_(nullptr, api_->destroy) {
  if (!api_->complete()) {
    throw EnvironmentError(api_->library.path() + " is not cuBLAS of CUDA 12.0 or newer");
  }
  void* handle = nullptr;
  check_cublas(api_->create(&handle), "cublasCreate");
  handle_.reset(handle);
  int number = 0;
  api_->get_version(handle, &number);
  version_ = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  workspace_ = DeviceBuffer(driver, kWorkspaceBytes);
  check_cublas(api_->set_stream(handle, stream.handle()), "cublasSetStream");
  check_cublas(
      api_->set_workspace(handle, reinterpret_cast<void*>(workspace_.address()), kWorkspaceBytes),
      "cublasSetWorkspace");
  lt_ = std::make_unique<CublasLt>(api_->library, handle, stream, workspace_);
}

Cublas::~Cublas() = default;

int Cublas::algorithms(const GemmProblem& problem, const Operand& a, const Operand& b,
                       const Operand& c) const {
  if (api_->gemm_batched_ex != nullptr) return kAutotune + 1;
  return 1 + lt_->candidates(problem, a, b, c);
}

void Cublas::gemm(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
                  float beta, const Operand& c, int algorithm) const {
  constexpr int kOwnChoice = -1;    // CUBLAS_GEMM_DEFAULT
  constexpr int kBenchmarks = 999;  // CUBLAS_GEMM_AUTOTUNE: of the first call for a product
  if (algorithm == kAutotune) return gemm_ex(problem, alpha, a, b, beta, c, kBenchmarks);
  if (algorithm > 0) return lt_->matmul(problem, alpha, a, b, beta, c, algorithm - 1);
  if (problem.types == GemmTypes()) return sgemm(problem, alpha, a, b, beta, c);
  gemm_ex(problem, alpha, a, b, beta, c, kOwnChoice);
}

void Cublas::gemm_ex(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
                     float beta, const Operand& c, int algorithm) const {
  if (api_->gemm_batched_ex == nullptr) {
    throw Error(api_->library.path() + " lacks cublasGemmStridedBatchedEx_64");
  }
  check_cublas(api_->gemm_batched_ex(
                   handle_.get(), operation(problem.op_b), operation(problem.op_a), problem.n,
                   problem.m, problem.k, &alpha, matrix(b), library_type(problem.types.b),
                   b.row_stride, b.matrix_stride, matrix(a), library_type(problem.types.a),
                   a.row_stride, a.matrix_stride, &beta, matrix(c), library_type(problem.types.c),
                   c.row_stride, c.matrix_stride, problem.batch, compute_type(problem), algorithm),
               "cublasGemmStridedBatchedEx");
}

void Cublas::sgemm(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
                   float beta, const Operand& c) const {
  // cuBLAS reads matrices as column-major, so row-major C = op(A) op(B) is C^T = op(B)^T op(A)^T.
  constexpr int kDefaultMath = 0;
  constexpr int kTf32Math = 3;
  check_cublas(
      api_->set_math_mode(handle_.get(), problem.math == Math::tf32 ? kTf32Math : kDefaultMath),
      "cublasSetMathMode");
  if (problem.batch == 1) {
    check_cublas(api_->sgemm(handle_.get(), operation(problem.op_b), operation(problem.op_a),
                             problem.n, problem.m, problem.k, &alpha, matrix(b), b.row_stride,
                             matrix(a), a.row_stride, &beta, matrix(c), c.row_stride),
                 "cublasSgemm");
    return;
  }
  check_cublas(api_->sgemm_batched(handle_.get(), operation(problem.op_b), operation(problem.op_a),
                                   problem.n, problem.m, problem.k, &alpha, matrix(b), b.row_stride,
                                   b.matrix_stride, matrix(a), a.row_stride, a.matrix_stride, &beta,
                                   matrix(c), c.row_stride, c.matrix_stride, problem.batch),
               "cublasSgemmStridedBatched");
}

}  // namespace autotune::gpu
