// One device's way of running gemm().
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "autotune/match_kind.hpp"
#include "autotune/problem.hpp"

#include "api/kernel_selector.hpp"
#include "core/kernel_signature.hpp"
#include "kernel_templates/gemm_template.hpp"

struct CUstream_st;

namespace autotune {

// The arguments of Autotuner::gemm(), checked except for what only the device knows.
struct GemmCall {
  GemmProblem problem;
  float alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float beta;
  float* c;
  std::int64_t ldc;
  CUstream_st* stream;
};

// The tensors that a launch passes, in the order of the operation gemm.
[[nodiscard]] inline std::array<LaunchValues::Tensor, 3> placed_tensors(const GemmCall& call) {
  const auto address = [](const float* matrix) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(matrix));
  };
  return {{{address(call.a), call.lda}, {address(call.b), call.ldb}, {address(call.c), call.ldc}}};
}
[[nodiscard]] inline std::array<std::int64_t, 3> sizes_of(const GemmProblem& problem) {
  return {problem.m, problem.n, problem.k};
}

// Returns whether CodeTraits::aligned holds for the operands. A tensor map's rows are less than
// 2^40 bytes apart.
[[nodiscard]] inline bool is_aligned(const GemmCall& call) {
  const auto begins = [](const float* matrix) {
    return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0;
  };
  const auto steps = [](std::int64_t leading) {
    return leading % 4 == 0 && leading < std::int64_t{1} << 38;
  };
  return rows_are_aligned(call.problem) && begins(call.a) && begins(call.b) && begins(call.c) &&
         steps(call.lda) && steps(call.ldb) && steps(call.ldc);
}

// Thread-safe.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;
  virtual MatchKind gemm(const GemmCall& call) = 0;
  virtual MatchKind prepare(const GemmProblem& problem, CUstream_st* stream) = 0;
  // From now on kernels are chosen anew. Those that are loaded stay so: work may be under way.
  virtual void forget_choices() = 0;
};

// `supply` outlives the runner. Throws EnvironmentError when the device cannot be opened.
[[nodiscard]] std::unique_ptr<GemmBackend> make_gpu_gemm(KernelSelector& supply);
[[nodiscard]] std::unique_ptr<GemmBackend> make_cpu_gemm(KernelSelector& supply);

}  // namespace autotune
