#include "cpu/compiler.hpp"

#include <cstdlib>
#include <optional>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "cpu/loaded_kernel.hpp"
#include "tests/support/gemm.hpp"
#include "tests/support/planted_error.hpp"

using autotune::CpuCompiler;
using autotune::CpuCompileResult;
using autotune::LoadedKernel;

namespace {

// Sets a variable of the environment until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::string kernel(const std::string& body) {
  return "extern \"C\" __global__ void probe(const float* a, const float* b, float* c, long long m,"
         " long long, long long, long long, long long, long long, float alpha, float beta, float*, "
         "unsigned) {" +
         body + "}";
}

float run(const CpuCompileResult& compiled, float alpha = 0, float beta = 0) {
  REQUIRE_MESSAGE(compiled.ok, compiled.log);
  const LoadedKernel loaded(compiled.image, "probe");
  float c = -1;
  autotune::test::GemmArguments arguments({.c = &c, .alpha = alpha, .beta = beta});
  loaded.entry().call(arguments.pointers());
  return c;
}

}  // namespace

TEST_SUITE("CpuCompiler") {
  TEST_CASE("it takes the macros of the options for NVRTC and nothing else") {
    const CpuCompiler compiler;
    const auto compiled = compiler.compile("probe", kernel("c[0] = VALUE;"),
                                           {"-arch=host", "-Xptxas=-v", "-DVALUE=7", "-std=bad"});
    CHECK(run(compiled) == 7);
    CHECK(compiled.log.empty());
  }

  TEST_CASE("kernels of the same name are kept apart") {
    // Templates of static data are what loaders like to share between libraries.
    const CpuCompiler compiler;
    const std::string source =
        "template <int I> struct Value { static int value; };"
        "template <int I> int Value<I>::value = VALUE;" +
        kernel("c[0] = Value<1>::value++;");
    for (const int value : {3, 5}) {
      const auto compiled = compiler.compile("probe", source, {"-DVALUE=" + std::to_string(value)});
      CHECK(run(compiled) == static_cast<float>(value));
      CHECK(run(compiled) == static_cast<float>(value));  // a fresh copy, not the one before
    }
  }

  TEST_CASE("fmaf rounds once and a product and a sum twice") {
    const CpuCompiler compiler;
    const float x = 1 + 0x1p-12F;
    const float difference = -(1 + 0x1p-11F);  // x * x = 1 + 2^-11 + 2^-24
    const auto fused = compiler.compile("probe", kernel("c[0] = fmaf(alpha, alpha, beta);"), {});
    const auto apart = compiler.compile("probe", kernel("c[0] = alpha * alpha + beta;"), {});
    CHECK(run(fused, x, difference) == 0x1p-24F);
    CHECK(run(apart, x, difference) == 0);
  }

  TEST_CASE("errors come with the line of the kernel") {
    const CpuCompiler compiler;
    const auto compiled = compiler.compile("probe", "\n\nint broken = no_such_name;", {});
    CHECK_FALSE(compiled.ok);
    CHECK(compiled.image.empty());
    CHECK(compiled.log.find("probe.cu:3:") != std::string::npos);
    CHECK(compiled.log.find("error") != std::string::npos);
    CHECK(compiled.log.find("no_such_name") != std::string::npos);
  }

  TEST_CASE("errors in a template come with the file and line that they stand in") {
    const CpuCompiler compiler;
    for (const autotune::test::PlantedError& error : autotune::test::planted_errors()) {
      CAPTURE(error.file);
      const auto compiled = compiler.compile("gemm_simt", error.source, {});
      CHECK_FALSE(compiled.ok);
      CHECK_MESSAGE(compiled.log.find(error.file + ":" + std::to_string(error.line) + ":") !=
                        std::string::npos,
                    compiled.log);
    }
  }

  TEST_CASE("a kernel that needs more stack than a thread has does not compile") {
    const CpuCompiler compiler;
    const auto compiled = compiler.compile(
        "probe", kernel("volatile float big[20000]; big[m] = alpha; c[0] = big[m + 1];"), {});
    CHECK_FALSE(compiled.ok);
    CHECK(compiled.log.find("frame size") != std::string::npos);
  }

  TEST_CASE("it leaves no files behind") {
    const std::string folder = std::string(AUTOTUNE_BINARY_DIR) + "/tests";
    const std::string count = "ls -d '" + folder + "'/autotune-* 2>/dev/null | grep -c .";
    const Variable place("TMPDIR", folder.c_str());
    const CpuCompiler compiler;
    CHECK(compiler.compile("probe", kernel(""), {}).ok);
    CHECK_FALSE(compiler.compile("probe", "broken", {}).ok);
    CHECK(std::system((count + " >/dev/null").c_str()) != 0);
  }

  TEST_CASE("a wrong CXX is named") {
    const Variable wrong("CXX", "/nonexistent/g++ -m64");
    CHECK_THROWS_WITH_AS(CpuCompiler(), doctest::Contains("/nonexistent/g++"),
                         autotune::EnvironmentError);
  }

  TEST_CASE("without any compiler it says what to install") {
    const Variable none("CXX", "");
    const Variable nowhere("PATH", "/nonexistent");
    CHECK_THROWS_WITH_AS(CpuCompiler(), doctest::Contains("install g++"),
                         autotune::EnvironmentError);
  }

  TEST_CASE("the build names the compiler and changes with its options") {
    const CpuCompiler plain;
    CHECK(plain.build().find("cpu ") != std::string::npos);
    CHECK(plain.build() == CpuCompiler().build());
    const Variable other("CXX", (plain.path() + " -DOTHER").c_str());
    CHECK(plain.build() != CpuCompiler().build());
  }
}
