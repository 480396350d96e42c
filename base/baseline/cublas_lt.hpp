// The candidates of cublasLt's heuristic: other algorithms than the one that cuBLAS chooses itself.
#pragma once

#include <cstddef>
#include <memory>

#include "autotune/problem.hpp"

#include "core/kernel_signature.hpp"
#include "gpu/memory.hpp"
#include "gpu/shared_library.hpp"
#include "gpu/stream.hpp"

namespace autotune::gpu {

// Throws Error for a status other than success.
void check_cublas(int status, const char* call);

// The libraries' numbers: cudaDataType_t and cublasComputeType_t. Throws Error for a type that
// kernels are not compared in.
[[nodiscard]] int library_type(ElementType type);
[[nodiscard]] int compute_type(const GemmProblem& problem);

// Belongs to the cuBLAS that it was made from, which outlives it.
class CublasLt {
 public:
  static constexpr int kMostCandidates = 8;

  // cuBLAS depends on cublasLt, and its handle is one of cublasLt's, too.
  CublasLt(const SharedLibrary& cublas, void* handle, const Stream& stream,
           const DeviceBuffer& workspace);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // The number of candidates for a product, the best first as the heuristic has it. 0 where
  // cublasLt is absent or has none. The matrices are row-major and begin at multiples of 256
  // bytes.
  using Operand = LaunchValues::Tensor;
  [[nodiscard]] int candidates(const GemmProblem& problem, const Operand& a, const Operand& b,
                               const Operand& c);

  // Computes C = alpha op(A) op(B) + beta C by a candidate, from number 0 on, on the stream of the
  // constructor. Throws Error.
  void matmul(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
              float beta, const Operand& c, int candidate);

 private:
  struct Api;
  struct Product;

  // Describes a product to cublasLt, unless it is the same as the last one. Throws Error.
  const Product& product(const GemmProblem& problem, const Operand& a, const Operand& b,
                         const Operand& c);

  std::unique_ptr<const Api> api_;
  void* handle_;
  const Stream& stream_;
  const DeviceBuffer& workspace_;
  std::unique_ptr<const Product> last_;
};

}  // namespace autotune::gpu
