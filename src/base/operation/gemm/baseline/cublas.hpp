// cuBLAS, with whose times this program's are compared if it is installed. Nothing else needs it.
#pragma once

#include <memory>
#include <string>

#include "autotune/problem.hpp"

#include "core/kernel_signature.hpp"
#include "gpu/memory.hpp"
#include "gpu/stream.hpp"

namespace autotune::gpu {

// SGEMM in cuBLAS's default math, FP32 with TF32 off, or with TF32 for problems of that math. It
// belongs to the context in which it was opened.
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

  // Computes C = alpha op(A) op(B) + beta C on the stream of the constructor. The matrices are
  // row-major. A batch is one call of cublasSgemmStridedBatched. Throws Error.
  using Operand = LaunchValues::Tensor;
  void sgemm(const GemmProblem& problem, float alpha, const Operand& a, const Operand& b,
             float beta, const Operand& c) const;

 private:
  struct Api;
  std::unique_ptr<const Api> api_;
  DeviceBuffer workspace_;
  std::unique_ptr<void, int (*)(void*)> handle_;
  std::string version_;
};

}  // namespace autotune::gpu
