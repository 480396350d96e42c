// The common part of the fake cuBLAS (fake_cublas.cpp) and cublasLt (fake_cublas_lt.cpp): products
// in the host's memory, where the fake CUDA driver has everything. The environment variable
// FAKE_CUBLAS scripts them: the microseconds that algorithms take, with ',' between them: first
// that of cuBLAS's own choice, then those of cublasLt's candidates. "-" stands for one that fails,
// and "!" for one that the heuristic itself marks as failed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace autotune::fake {

// Statuses of cublas_api.h.
enum Status { kSuccess = 0, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15 };

struct Handle {
  void* stream = nullptr;
  bool tf32 = false;
};

// Column-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;
  std::int64_t stride = 0;  // from one matrix of a batch to the next
};

// C = alpha op(A) op(B) + beta C.
struct Product {
  Matrix a, b, c;
  bool transpose_a = false;
  bool transpose_b = false;
  bool tf32 = false;
  std::int64_t batch = 1;
};

inline std::vector<std::string> algorithms() {
  const char* script = std::getenv("FAKE_CUBLAS");
  std::istringstream list(script != nullptr ? script : "10");
  std::vector<std::string> all;
  for (std::string one; std::getline(list, one, ',');) all.push_back(one);
  return all;
}

// To 11 significant bits.
inline float operand(float value, bool tf32) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return tf32 ? std::bit_cast<float>((bits + 0x1000) & ~0x1fffU) : value;
}

inline Status compute(const Product& p, float alpha, const float* a, const float* b, float beta,
                      float* c) {
  const auto shape = [](const Matrix& m, bool transposed) {
    return transposed ? Matrix{m.columns, m.rows} : m;
  };
  const Matrix op_a = shape(p.a, p.transpose_a);
  const Matrix op_b = shape(p.b, p.transpose_b);
  for (const Matrix& m : {p.a, p.b, p.c}) {
    if (m.leading < m.rows) return kInvalidValue;
  }
  if (op_a.rows != p.c.rows || op_b.columns != p.c.columns || op_a.columns != op_b.rows) {
    return kInvalidValue;
  }
  for (std::int64_t z = 0; z < p.batch; ++z) {
    for (std::int64_t i = 0; i < p.c.rows; ++i) {
      for (std::int64_t j = 0; j < p.c.columns; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < op_a.columns; ++l) {
          const std::int64_t at_a = p.transpose_a ? l + i * p.a.leading : i + l * p.a.leading;
          const std::int64_t at_b = p.transpose_b ? j + l * p.b.leading : l + j * p.b.leading;
          sum +=
              operand(a[z * p.a.stride + at_a], p.tf32) * operand(b[z * p.b.stride + at_b], p.tf32);
        }
        float& result = c[z * p.c.stride + i + j * p.c.leading];
        result = alpha * sum + (beta == 0 ? 0 : beta * result);
      }
    }
  }
  return kSuccess;
}

// Lets the fake driver's clock go on for the time that the script has for an algorithm.
inline Status take_time(const std::string& scripted, void* stream) {
  if (scripted == "-") return kExecutionFailed;
  void* const driver = ::dlopen(std::getenv("AUTOTUNE_LIBCUDA"), RTLD_LAZY | RTLD_NOLOAD);
  const auto launch =
      reinterpret_cast<void (*)(void*, double)>(::dlsym(driver, "fake_cuda_launch_us"));
  launch(stream, std::stod(scripted));
  return kSuccess;
}

}  // namespace autotune::fake
