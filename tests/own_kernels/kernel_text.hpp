// Files of kernels for the tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "own_kernels/kernel_file.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {

// Writes a file and reads it as a file of kernels.
inline KernelFile read_text(const std::string& text, const KernelFileOptions& options = {}) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "k.cu";
  std::ofstream(path, std::ios::binary) << text;
  return read_kernel_file(path, options);
}

// Kernel Launcher's own example.
inline constexpr const char* kVectorAdd =
    R"(#pragma kernel_tuner tune(threads_per_block=32, 64, 128)
#pragma kernel_tuner tune(items_per_thread=1, 2, 4, 8)
#pragma kernel_tuner set(items_per_block=threads_per_block * items_per_thread)
#pragma kernel_tuner problem_size(n)
#pragma kernel_tuner block_size(threads_per_block)
#pragma kernel_tuner grid_divisor(items_per_block)
#pragma kernel_tuner buffers(C[n], A[n], B[n])
#pragma kernel_tuner tuning_key("vector_add_", T)
template <typename T, int items_per_thread=1>
__global__
void vector_add(int n, T* C, const T* A, const T* B) {
    for (int k = 0; k < items_per_thread; k++) {
        int i = blockIdx.x * items_per_thread * blockDim.x + k * blockDim.x + threadIdx.x;
        if (i < n) C[i] = A[i] + B[i];
    }
}
)";

}  // namespace autotune::test
