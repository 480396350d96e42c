// A share of the configurations of every template on the CPU device, of those that are searched
// there without being named a third: bit for bit one chain of fused multiply-adds, at awkward
// shapes. Every other one is compiled for aligned operands, and runs with such.
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cpu/compiler.hpp"
#include "cpu/device.hpp"
#include "cpu/launcher.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/support/gemm.hpp"

using namespace autotune;

namespace {

struct Case {
  GemmProblem problem;
  float alpha = 1;
  float beta = 0;
  std::int64_t gap = 0;    // elements between rows, beyond what they need
  std::int64_t shift = 0;  // of the first element from an aligned address
};

const std::vector<Case> kCases = {
    {{1, 1, 1}},
    {{7, 1, 3}},
    {{70, 33, 51}},
    {{1, 97, 5}},
    {{2, 2, 100}},
    {{64, 64, 32}, -1.5F, 0.5F, 4, 0},
    {{40, 65, 9}, 2, -1, 3, 1},
};

const std::vector<Case> kAlignedCases = {
    {{4, 4, 4}},
    {{72, 36, 52}},
    {{4, 132, 20}, 2, -1},
    {{64, 64, 32}, -1.5F, 0.5F, 4, 4},
};

struct Matrix {
  std::vector<float> memory;
  std::int64_t ld, shift;

  Matrix(std::int64_t rows, std::int64_t columns, const Case& test)
      : memory(static_cast<std::size_t>(test.shift + (rows - 1) * (columns + test.gap) + columns)),
        ld(columns + test.gap),
        shift(test.shift) {}

  float* data() { return memory.data() + shift; }
  float& at(std::int64_t row, std::int64_t column) { return data()[row * ld + column]; }
};

void fill(Matrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : matrix.memory) value = uniform(random);
}

// Operands and the result that a kernel must give, gaps untouched.
struct Expected {
  Case test;
  Matrix a, b, c, result;

  explicit Expected(const Case& given)
      : test(given),
        a(rows_of(given.problem.op_a, given.problem.m, given.problem.k), given.problem.lda(),
          given),
        b(rows_of(given.problem.op_b, given.problem.k, given.problem.n), given.problem.ldb(),
          given),
        c(given.problem.m, given.problem.n, given),
        result(c) {
    std::mt19937 random(7);
    fill(a, random);
    fill(b, random);
    fill(c, random);
    if (test.beta == 0) {
      for (float& value : c.memory) value = std::numeric_limits<float>::quiet_NaN();
    }
    result = c;
    for (std::int64_t row = 0; row < test.problem.m; ++row) {
      for (std::int64_t column = 0; column < test.problem.n; ++column) set_result(row, column);
    }
  }

  static std::int64_t rows_of(Transpose op, std::int64_t plain, std::int64_t transposed) {
    return op == Transpose::none ? plain : transposed;
  }

  void set_result(std::int64_t row, std::int64_t column) {
    const bool plain_a = test.problem.op_a == Transpose::none;
    const bool plain_b = test.problem.op_b == Transpose::none;
    float sum = 0;
    for (std::int64_t i = 0; i < test.problem.k; ++i) {
      sum = std::fmaf(plain_a ? a.at(row, i) : a.at(i, row),
                      plain_b ? b.at(i, column) : b.at(column, i), sum);
    }
    float& value = result.at(row, column);
    value = test.beta == 0 ? test.alpha * sum : std::fmaf(test.beta, value, test.alpha * sum);
  }
};

// Several configurations in one text: starting the compiler costs more than compiling a kernel.
class Batch {
 public:
  // The compiler takes this for the text's kernel.
  static constexpr const char* kKernel = "extern \"C\" __global__ void batch() {}\n";

  void add(const KernelTemplate& kernel, const Configuration& configuration,
           const CodeTraits& traits) {
    const std::string symbol = fmt::format("{}_{}", kernel.name, configurations_.size());
    std::string undefine;
    source_ += fmt::format("#define {} {}\n", kernel.name, symbol);
    for (const std::string& option : compile_options(kernel, configuration, traits, "cpu")) {
      if (!option.starts_with("-D")) continue;
      const std::size_t equals = option.find('=');
      const std::string name = option.substr(2, equals - 2);
      source_ += fmt::format("#define {} {}\n", name, option.substr(equals + 1));
      undefine += fmt::format("#undef {}\n", name);
    }
    source_ += fmt::format("namespace in_{} {{\n{}\n}}\n{}#undef {}\n", symbol, kernel.source,
                           undefine, kernel.name);
    source_ += fmt::format(
        "extern \"C\" __global__ void {}{}(void** arguments) {{\n"
        "  autotune_call_kernel(&in_{}::{}, arguments);\n}}\n",
        kCallPrefix, symbol, symbol, symbol);
    configurations_.push_back({symbol, configuration, traits.aligned});
  }

  // The first configuration found wrong, in words; empty when there is none.
  std::string first_wrong(const CpuCompiler& compiler, const KernelTemplate& kernel,
                          std::vector<Expected> any_cases,
                          std::vector<Expected> aligned_cases) const {
    const CpuCompileResult compiled = compiler.compile("batch", source_ + kKernel, {});
    if (!compiled.ok) return compiled.log;
    CpuLauncher launcher(1);
    for (const auto& [symbol, configuration, aligned] : configurations_) {
      const CpuKernel loaded = launcher.load(compiled.image, symbol);
      for (Expected& expected : aligned ? aligned_cases : any_cases) {
        const std::string wrong = run(launcher, loaded, kernel, configuration, expected);
        if (wrong.empty()) continue;
        return fmt::format("{} at {}: {}", to_string(configuration),
                           to_string(expected.test.problem), wrong);
      }
    }
    return "";
  }

 private:
  static std::string run(CpuLauncher& launcher, const CpuKernel& loaded,
                         const KernelTemplate& kernel, const Configuration& configuration,
                         Expected& expected) {
    const GemmProblem& p = expected.test.problem;
    Matrix c = expected.c;
    test::GemmArguments arguments({.a = expected.a.data(),
                                   .b = expected.b.data(),
                                   .c = c.data(),
                                   .m = p.m,
                                   .n = p.n,
                                   .k = p.k,
                                   .lda = expected.a.ld,
                                   .ldb = expected.b.ld,
                                   .ldc = c.ld,
                                   .alpha = expected.test.alpha,
                                   .beta = expected.test.beta});
    const LaunchGeometry geometry = kernel.geometry(configuration, p);
    std::vector<std::int64_t> blocks;
    for (std::int64_t block = 0; block < geometry.blocks(); ++block) blocks.push_back(block);
    const auto fault = launcher.launch(loaded, arguments.pointers(), geometry, blocks);
    if (fault) return *fault;
    const std::size_t bytes = c.memory.size() * sizeof(float);
    const bool same = std::memcmp(c.memory.data(), expected.result.memory.data(), bytes) == 0;
    return same ? "" : "wrong bits";
  }

  std::string source_;
  struct Compiled {
    std::string symbol;
    Configuration configuration;
    bool aligned;
  };
  std::vector<Compiled> configurations_;
};

// Returns whether several lanes or slices have a chain each.
bool shares_k(const Configuration& configuration) {
  if (configuration.contains("SLICE_K") && configuration.at("SLICE_K") > 1) return true;
  return configuration.contains("LANES_K") && configuration.at("LANES_K") > 1;
}

// The configurations that the CPU device is offered and that keep one chain a result.
std::vector<Configuration> chains(const KernelTemplate& kernel) {
  std::vector<Configuration> result =
      kernel.space.enumerate(device_constraints(kernel, cpu_device_info())).configurations;
  std::erase_if(result, shares_k);
  return result;
}

// Results of other kernels are not the bits of a chain of FP32 multiply-adds.
bool is_strict(const KernelTemplate& kernel) {
  return computes(kernel, GemmProblem{.m = 1, .n = 1, .k = 1});
}

void check_all(const KernelTemplate& kernel, Transpose op_a, Transpose op_b, std::size_t stride) {
  constexpr std::size_t kBatch = 24;
  const auto expected = [&](std::vector<Case> cases) {
    std::vector<Expected> result;
    for (Case& test : cases) {
      test.problem.op_a = op_a;
      test.problem.op_b = op_b;
      result.emplace_back(test);
    }
    return result;
  };
  const std::vector<Expected> any_cases = expected(kCases);
  const std::vector<Expected> aligned_cases = expected(kAlignedCases);
  const std::vector<Configuration> all = chains(kernel);
  // All configurations that are searched here without being named.
  const auto searched = built_in_kernels().for_device(cpu_device_info());
  constexpr std::size_t kShare = 24;
  if (std::find(searched.begin(), searched.end(), &kernel) == searched.end()) {
    stride *= std::max<std::size_t>(1, all.size() / kShare);
  }
  CodeTraits traits = unpadded_traits(
      *kernel.operation, GemmProblem{.m = 1, .n = 1, .k = 1, .op_a = op_a, .op_b = op_b});
  std::vector<Batch> batches((all.size() / stride + kBatch) / kBatch);
  for (std::size_t i = 0; i < all.size(); i += stride) {
    const bool aligned = i / stride % 2 == 1;
    traits.aligned = aligned;
    batches[i / stride / kBatch].add(kernel, all[i], traits);
  }
  const CpuCompiler compiler;
  std::vector<std::string> wrong(batches.size());
  ThreadPool pool(std::max(1U, std::thread::hardware_concurrency()));
  pool.for_each(batches.size(), [&](std::size_t item, std::size_t) {
    wrong[item] = batches[item].first_wrong(compiler, kernel, any_cases, aligned_cases);
  });
  for (const std::string& text : wrong) CHECK(text == "");
}

}  // namespace

TEST_SUITE("configurations") {
  TEST_CASE("plain operands in every third configuration") {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      if (!is_strict(kernel)) continue;
      CAPTURE(kernel.name);
      check_all(kernel, Transpose::none, Transpose::none, 3);
    }
  }

  TEST_CASE("transposed operands in every thirteenth configuration") {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      if (!is_strict(kernel)) continue;
      CAPTURE(kernel.name);
      check_all(kernel, Transpose::transposed, Transpose::none, 13);
      check_all(kernel, Transpose::none, Transpose::transposed, 13);
      check_all(kernel, Transpose::transposed, Transpose::transposed, 13);
    }
  }
}
