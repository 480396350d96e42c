// cuBLAS, with whose times this program's are compared if it is installed. Nothing else needs it.
#pragma once

#include <memory>
#include <string>

#include "autotune/problem.hpp"

#include "baseline/cublas_lt.hpp"
#include "core/kernel_signature.hpp"
#include "gpu/memory.hpp"
#include "gpu/stream.hpp"

namespace autotune::gpu {

// Products of FP32 in cuBLAS's default math, with TF32 off, or with TF32 for problems of that math;
// and products of 16-bit operands with FP32 sums. It belongs to the context in which it was opened.
class Cublas {
 public:
  // Opens the library that AUTOTUNE_CUBLAS names, else libcublas.so.13 or .12. Throws
  // EnvironmentError when there is none.
  Cublas(const Driver& driver, const Stream& stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // "13.1.0".
  [[nodiscard]] const std::string& version() const { return version_; }

  // The number of algorithms for a product: cuBLAS's own choice, number 0; the candidates of
  // cublasLt's heuristic, up to CublasLt::kMostCandidates; and behind the last number of those
  // CUBLAS_GEMM_AUTOTUNE, where the library has the function for it.
  using Operand = LaunchValues::Tensor;
  static constexpr int kAutotune = CublasLt::kMostCandidates + 1;
  [[nodiscard]] int algorithms(const GemmProblem& problem, const Operand& a, const Operand& b,
                               const Operand& c) const;

  // Computes C = alpha op(A) op(B) + beta C on the stream of the constructor. The matrices are
  // row-major and begin at multiples of 256 bytes. Left to itself, cuBLAS computes a batch in one
  // call. Throws Error, also for a number that no candidate has.
  void gemm(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b, float beta,
            const Operand& c, int algorithm = 0) const;

 private:
  struct Api;
  void sgemm(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
             float beta, const Operand& c) const;
  // cublasGemmStridedBatchedEx, for all types, with one of its own algorithms.
  void gemm_ex(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
               float beta, const Operand& c, int algorithm) const;

  std::unique_ptr<const Api> api_;
  DeviceBuffer workspace_;
  std::unique_ptr<void, int (*)(void*)> handle_;
  std::unique_ptr<CublasLt> lt_;
  std::string version_;
};

}  // namespace autotune::gpu
