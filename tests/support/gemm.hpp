// The arguments of GEMM kernels (operation/gemm/gemm.hpp) in this machine's memory.
#pragma once

#include <array>
#include <cstdint>

#include "operation/gemm/gemm.hpp"

namespace autotune::test {

struct GemmCall {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  float alpha = 1;
  float beta = 0;
};

class GemmArguments {
 public:
  explicit GemmArguments(const GemmCall& call)
      : tensors_{{{address(call.a), call.lda},
                  {address(call.b), call.ldb},
                  {address(call.c), call.ldc}}},
        sizes_{call.m, call.n, call.k},
        pack_(ArgumentLayout(gemm_signature()),
              {.tensors = tensors_,
               .sizes = sizes_,
               .scalars = std::array{double{call.alpha}, double{call.beta}}}) {}

  [[nodiscard]] void** pointers() { return pack_.pointers(); }

 private:
  static std::uint64_t address(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
  }

  std::array<LaunchValues::Tensor, 3> tensors_;
  std::array<std::int64_t, 3> sizes_;
  ArgumentPack pack_;
};

}  // namespace autotune::test
