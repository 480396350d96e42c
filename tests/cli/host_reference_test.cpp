// Kernels of a user's own that a function of the host judges, on the CPU device.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/fake_machine.hpp"

namespace autotune::test {
namespace {

// The kernel and the function round differently, and a parameter has the name of a member of the
// CPU device's own structures. Without the bodies of what runs on the device, the text is C++.
constexpr const char* kJudgedByHost = R"(
#ifndef __CUDACC_RTC__
#include <map>
#include <vector>
#endif
__device__ float more(float a) { return __fdividef(a, 1) + __ldg(&a) * 0; }
#ifndef __CUDACC_RTC__
namespace by_hand {
// z gets a and the length, so that each kind of argument is seen.
template <typename T>
void scale(const T* x, T* y, int* z, double a, long long n) {
  const std::map<int, double> factors = {{0, a + OFFSET}};
  const std::vector<T> copy(x, x + n);
  for (long long i = 0; i < n; ++i) y[i] = static_cast<T>(factors.at(0) * copy[i]) + y[i];
  z[0] = static_cast<int>(a);
  z[1] = static_cast<int>(n);
}
}  // namespace by_hand
#endif
#pragma kernel tune(thread = 32, 64) problem_size(n) block_size(thread)
#pragma kernel buffers(x[n], y[n], z[2]) inout(y) data(y = uniform(-1, 1)) scalar(a = 2)
#pragma kernel define(OFFSET = 1) reference(host(scale))
__global__ void scale_fast(const float* __restrict__ x, float* y, int* z, const float a, int n) {
  const int i = blockIdx.x * thread + threadIdx.x;
  if (i < n) y[i] += more(a + OFFSET) * x[i];
  if (i == 0) { z[0] = static_cast<int>(a); z[1] = n; }
}
)";

struct Judged : Program {
  std::filesystem::path file = folder.path() / "k.cu";

  // Replaces a part of the text.
  [[nodiscard]] ProgramResult tuned(const std::string& part = "", const std::string& by = "",
                                    const std::string& device = "cpu") const {
    std::string text = kJudgedByHost;
    if (!part.empty()) {
      REQUIRE(has(text, part));
      text.replace(text.find(part), part.size(), by);
    }
    std::ofstream(file) << text;
    return (*this)({"tune", "--kernel", file.string(), "--size", "n=1000", "--device", device,
                    "--progress", "none"});
  }
};

void check_no_judge(const ProgramResult& result, int exit_code, const std::string& says) {
  CAPTURE(result.err);
  CHECK(result.exit_code == exit_code);
  CHECK(lines(result.err) == 1);
  CHECK(has(result.err, says));
}

}  // namespace

TEST_SUITE("a function of the host as the reference") {
  TEST_CASE("passes what is right, and finds what is wrong in every configuration") {
    const Judged program;
    const ProgramResult right = program.tuned();
    CAPTURE(right.err);
    CHECK(right.exit_code == kSuccess);
    CHECK(has(right.out, "2 of 2 configurations tried"));
    const Judged other;  // has no winner from before
    const ProgramResult wrong = other.tuned("y[i] += more(a", "y[i] += (i == 7) + more(a");
    CHECK(wrong.exit_code == kNoneCorrect);
    CHECK(has(wrong.out + wrong.err, "1 of 1000 elements of y are wrong on the first data"));
    const ProgramResult counts = other.tuned("z[1] = n;", "z[1] = n + 1;");
    CHECK(has(counts.out + counts.err, "element 1 is 1001, but 1000 is expected"));
  }

  TEST_CASE("is refused in one line where it cannot judge") {
    const Judged program;
    check_no_judge(program.tuned("host(scale)", "host(skale)"), kUsage,
                   "k.cu:22:50: the file defines no function 'skale' for the host");
    check_no_judge(program.tuned("host(scale)", "host(more)"), kUsage,
                   "k.cu:22:50: the file defines no function 'more' for the host");
    check_no_judge(program.tuned("host(scale)", "host(scale, more)"), kUsage,
                   "k.cu:22:55: expected");
    check_no_judge(program.tuned("double a, long long n", "double a"), kEnvironment,
                   "the reference scale cannot judge kernels: it does not compile: ");
    check_no_judge(program.tuned("copy[i]) +", "kopy[i]) +"), kEnvironment,
                   "k.cu:14:75: error: 'kopy' was not declared");
    check_no_judge(program.tuned("y[i] = static_cast", "y[i + 1] = static_cast"), kEnvironment,
                   "the reference scale cannot judge kernels: it writes outside of the output y");
    check_no_judge(program.tuned("z[1] = static_cast<int>(n);", ""), kEnvironment,
                   "it leaves 1 of 2 elements of the output z unwritten");
    Judged without;
    without.environment.emplace_back("CXX", "/nonexistent/c++");
    check_no_judge(without.tuned(), kEnvironment, "CXX was not found: /nonexistent/c++");
  }

  TEST_CASE("needs a compiler on a GPU too, and names what checks without one") {
    if (!can_compile()) return;
    Judged program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("FAKE_CUDA", "devices=1");
    program.environment.emplace_back("CXX", "/nonexistent/c++");
    const ProgramResult result = program.tuned("", "", "0");
    CAPTURE(result.err);
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err,
              "the reference scale is a function of the host: the C++ compiler named in CXX was "
              "not found: /nonexistent/c++. Name another, or unset CXX. What checks without a "
              "compiler: another kernel as reference(NAME), .npy files as reference(OUTPUT = "
              "\"FILE.npy\"), or, without a reference, the default configuration\n"));
  }
}

}  // namespace autotune::test
