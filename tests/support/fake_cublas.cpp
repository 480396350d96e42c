// A cuBLAS without a GPU: what AUTOTUNE_CUBLAS names in tests. fake_cublas.hpp says what it
// computes and how it is scripted.
#include "tests/support/fake_cublas.hpp"

using autotune::fake::Handle;
using autotune::fake::Product;

namespace {

struct Place {
  std::int64_t leading, stride;
};

Product product_of(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k, Place a,
                   Place b, Place c, std::int64_t batch, bool tf32) {
  const bool ta = op_a == 1;
  const bool tb = op_b == 1;
  return {.a = {ta ? k : m, ta ? m : k, a.leading, a.stride},
          .b = {tb ? n : k, tb ? k : n, b.leading, b.stride},
          .c = {m, n, c.leading, c.stride},
          .transpose_a = ta,
          .transpose_b = tb,
          .tf32 = tf32,
          .batch = batch};
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return autotune::fake::kSuccess;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return autotune::fake::kSuccess;
}
int cublasGetVersion_v2(void*, int* version) {
  *version = 130100;
  return autotune::fake::kSuccess;
}
int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return autotune::fake::kSuccess;
}
int cublasSetWorkspace_v2(void*, void*, std::size_t) {
  return autotune::fake::kSuccess;
}
int cublasSetMathMode(void* handle, int mode) {
  static_cast<Handle*>(handle)->tf32 = mode == 3;  // CUBLAS_TF32_TENSOR_OP_MATH
  return autotune::fake::kSuccess;
}

int cublasSgemmStridedBatched_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                                 std::int64_t k, const float* alpha, const float* a,
                                 std::int64_t lda, std::int64_t stride_a, const float* b,
                                 std::int64_t ldb, std::int64_t stride_b, const float* beta,
                                 float* c, std::int64_t ldc, std::int64_t stride_c,
                                 std::int64_t batch) {
  const auto& state = *static_cast<const Handle*>(handle);
  const Product product = product_of(op_a, op_b, m, n, k, {lda, stride_a}, {ldb, stride_b},
                                     {ldc, stride_c}, batch, state.tf32);
  const int status = autotune::fake::take_time(autotune::fake::algorithms().front(), state.stream);
  return status != 0 ? status : autotune::fake::compute(product, *alpha, a, b, *beta, c);
}

int cublasSgemm_v2_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, const float* alpha, const float* a, std::int64_t lda,
                      const float* b, std::int64_t ldb, const float* beta, float* c,
                      std::int64_t ldc) {
  return cublasSgemmStridedBatched_64(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0,
                                      beta, c, ldc, 0, 1);
}

// Only CUBLAS_GEMM_AUTOTUNE, in FP32 or TF32. FAKE_CUBLAS_AUTOTUNE has its microseconds, 10 if
// unset.
int cublasGemmStridedBatchedEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                                  std::int64_t k, const void* alpha, const void* a, int type_a,
                                  std::int64_t lda, long long stride_a, const void* b, int type_b,
                                  std::int64_t ldb, long long stride_b, const void* beta, void* c,
                                  int type_c, std::int64_t ldc, long long stride_c,
                                  std::int64_t batch, int compute_type, int algorithm) {
  if (type_a != 0 || type_b != 0 || type_c != 0 || algorithm != 999) {
    return autotune::fake::kInvalidValue;
  }
  const Product product = product_of(op_a, op_b, m, n, k, {lda, stride_a}, {ldb, stride_b},
                                     {ldc, stride_c}, batch, compute_type == 77);
  const char* const scripted = std::getenv("FAKE_CUBLAS_AUTOTUNE");
  const int status = autotune::fake::take_time(scripted != nullptr ? scripted : "10",
                                               static_cast<const Handle*>(handle)->stream);
  return status != 0
             ? status
             : autotune::fake::compute(product, *static_cast<const float*>(alpha),
                                       static_cast<const float*>(a), static_cast<const float*>(b),
                                       *static_cast<const float*>(beta), static_cast<float*>(c));
}

}  // extern "C"
