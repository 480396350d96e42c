// Cases for kernels that run on the CPU (cuda_on_cpu.hpp), and their results bit for bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "core/element_type.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tests/kernel_templates/cuda_on_cpu.hpp"

namespace autotune::test {

using KernelFunction = void(const float*, const float*, float*, long long, long long, long long,
                            long long, long long, long long, float, float, float*, unsigned);

// The same for a batch.
using BatchedKernelFunction = void(const float*, const float*, float*, long long, long long,
                                   long long, long long, long long, long long, float, float, float*,
                                   unsigned, long long, long long, long long, long long);

// A kernel's text as C++, for one configuration and layout.
template <typename Function>
struct InstanceOf {
  Configuration configuration;
  Transpose op_a;
  Transpose op_b;
  Function* kernel;
};
using KernelInstance = InstanceOf<KernelFunction>;

// A matrix in memory of just the size it needs, so that a stray access leaves it. It has an address
// even where it has no elements.
struct Matrix {
  std::vector<float> memory;
  std::int64_t ld;
  std::int64_t offset;  // elements in front, to spoil the alignment

  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t gap, std::int64_t shift)
      : memory(static_cast<std::size_t>(
            std::max<std::int64_t>(shift + (rows - 1) * (columns + gap) + columns, 1))),
        ld(columns + gap),
        offset(shift) {}

  float* data() { return memory.data() + offset; }
  float& at(std::int64_t row, std::int64_t column) { return data()[row * ld + column]; }
};

// Values whose products round, vanish below the smallest number (leaving a -0) or are zeros.
inline void fill(Matrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : matrix.memory) {
    value = uniform(random);
    if (value > 0.8F) value = std::copysign(1e-30F, uniform(random));
    if (value < -0.8F) value = std::copysign(0.0F, uniform(random));
  }
}

// Makes all values ones that the type has.
inline void round_to(ElementType type, Matrix& matrix) {
  if (type == ElementType::f32) return;
  for (float& value : matrix.memory) {
    std::uint16_t element = 0;
    store_element(type, &element, value);
    value = static_cast<float>(load_element(type, &element));
  }
}

// The elements of a matrix as a kernel has them, in memory of just the size they need.
class Elements {
 public:
  Elements(const Matrix& matrix, ElementType type)
      : type_(type), offset_(matrix.offset * size_bytes(type)) {
    const auto size = static_cast<std::size_t>(size_bytes(type));
    bytes_.resize(matrix.memory.size() * size);
    for (std::size_t i = 0; i < matrix.memory.size(); ++i) {
      store_element(type, &bytes_[i * size], matrix.memory[i]);
    }
  }
  float* data() { return reinterpret_cast<float*>(bytes_.data() + offset_); }
  void read(Matrix& matrix) const {
    const auto size = static_cast<std::size_t>(size_bytes(type_));
    for (std::size_t i = 0; i < matrix.memory.size(); ++i) {
      matrix.memory[i] = static_cast<float>(load_element(type_, &bytes_[i * size]));
    }
  }

 private:
  ElementType type_;
  std::int64_t offset_;
  std::vector<std::byte> bytes_;
};

struct alignas(16) Vector4 {
  float at[4] = {};
};

struct ArithmeticCase {
  GemmProblem problem;
  float alpha, beta;
  std::int64_t gap;    // between rows, beyond what they need
  std::int64_t shift;  // of the first element from an aligned address
};

inline std::uint32_t bits(float value) {
  std::uint32_t result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// On a device of few SMs.
inline LaunchGeometry geometry_of(const KernelTemplate& kernel, const KernelInstance& instance,
                                  const GemmProblem& problem) {
  constexpr int kSmCount = 4;
  return kernel.geometry(instance.configuration, problem).on_device(kSmCount);
}

// One result: add(sum, k) is fma(op(A)[row][k], op(B)[k][column], sum).
using Sum = std::function<float(std::int64_t row, std::int64_t column,
                                const std::function<float(float sum, std::int64_t k)>& add)>;

// Elements of C that differ from the promised ones in any bit, and gaps that were written.
// `sum` adds up one result in the order that the kernel promises.
inline int wrong_elements(const KernelTemplate& kernel, const KernelInstance& instance,
                          const ArithmeticCase& test, const Sum& sum) {
  const auto [m, n, k, op_a, op_b, math, order, batch, types] = test.problem;
  const bool plain_a = op_a == Transpose::none;
  const bool plain_b = op_b == Transpose::none;
  Matrix a(plain_a ? m : k, plain_a ? k : m, test.gap, test.shift);
  Matrix b(plain_b ? k : n, plain_b ? n : k, test.gap, test.shift);
  Matrix c(m, n, test.gap, test.shift);
  std::mt19937 random(7);
  fill(a, random);
  fill(b, random);
  fill(c, random);
  round_to(types.a, a);
  round_to(types.b, b);
  round_to(types.c, c);
  if (test.beta == 0) {
    for (float& value : c.memory) value = std::numeric_limits<float>::quiet_NaN();
  }
  Matrix expected = c;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const float total = sum(row, column, [&](float before, std::int64_t i) {
        return std::fmaf(plain_a ? a.at(row, i) : a.at(i, row),
                         plain_b ? b.at(i, column) : b.at(column, i), before);
      });
      float& result = expected.at(row, column);
      result =
          test.beta == 0 ? test.alpha * total : std::fmaf(test.beta, result, test.alpha * total);
    }
  }
  round_to(types.c, expected);
  Elements elements_of_a(a, types.a);
  Elements elements_of_b(b, types.b);
  const LaunchGeometry geometry = geometry_of(kernel, instance, test.problem);
  // Vectors of four floats lie in it.
  std::vector<Vector4> scratch(static_cast<std::size_t>(geometry.workspace_bytes()) / 16);
  float* const words = scratch.empty() ? nullptr : scratch.front().at;
  // Twice with a workspace: a kernel leaves its counters as it found them.
  const int runs = scratch.empty() ? 1 : 2;
  for (int run = 0; run < runs; ++run) {
    Elements again(c, types.c);
    cuda_on_cpu::launch(geometry, [&] {
      instance.kernel(elements_of_a.data(), elements_of_b.data(), again.data(), m, n, k, a.ld, b.ld,
                      c.ld, test.alpha, test.beta, words, static_cast<unsigned>(geometry.raster));
    });
    if (run + 1 == runs) again.read(c);
  }
  int wrong = 0;
  for (std::size_t i = 0; i < c.memory.size(); ++i) {
    if (bits(c.memory[i]) != bits(expected.memory[i])) ++wrong;
  }
  return wrong;
}

}  // namespace autotune::test
