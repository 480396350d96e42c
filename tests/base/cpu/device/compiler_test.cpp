#include "cpu/compiler.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "autotune/error.hpp"

#include "core/posix/file_descriptor.hpp"
#include "core/posix/host_resources.hpp"
#include "cpu/loaded_kernel.hpp"
#include "tests/support/gemm.hpp"
#include "tests/support/planted_error.hpp"
#include "tests/support/run_program.hpp"

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

// A folder for temporary files, and a script as the compiler.
struct ScriptedCompiler {
  explicit ScriptedCompiler(const std::string& script) {
    std::filesystem::create_directory(place);
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  autotune::test::TemporaryFolder folder;
  std::filesystem::path place = folder.path() / "tmp";
  std::string program = folder.path() / "c++";
  Variable cxx{"CXX", program.c_str()};
  Variable tmpdir{"TMPDIR", place.c_str()};
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

  TEST_CASE("kernels have vector types, mathematics and atomic functions") {
    const CpuCompiler compiler;
    const auto vectors = compiler.compile(
        "probe", kernel("const float4 v = make_float4(1, alpha, 3, beta); c[0] = v.y + v.w;"), {});
    CHECK(run(vectors, 2, 40) == 42);
    const auto functions = compiler.compile(
        "probe", kernel("c[0] = max(sqrtf(alpha), min(1, 2)) + exp(0.0f) + rsqrtf(beta);"), {});
    CHECK(run(functions, 9, 4) == 4.5F);
    const auto atomics = compiler.compile(
        "probe",
        kernel("int count = 5; unsigned bits = 6; c[0] = alpha; atomicAdd(c, beta);"
               "c[0] += 10 * atomicAdd(&count, 2); c[0] += 100 * atomicMax(&count, 3);"
               "c[0] += 1000 * atomicCAS(&bits, 6u, 1u); c[0] += 10000 * bits;"),
        {});
    CHECK(run(atomics, 1, 2) == 16753);
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

  TEST_CASE("it leaves no files behind, nor does a compiler that was killed among its own") {
    const ScriptedCompiler bench("[ $1 = --version ] || touch $TMPDIR/ccAbCdEf.s; exec c++ \"$@\"");
    const CpuCompiler compiler;
    CHECK(compiler.compile("probe", kernel(""), {}).ok);
    CHECK_FALSE(compiler.compile("probe", "broken", {}).ok);
    CHECK(std::filesystem::is_empty(bench.place));
  }

  TEST_CASE("what stops the compiler, but the kernel, is a fault of the environment") {
    const std::pair<const char*, const char*> faults[] = {
        {"kill -9 $$", "ended with exit code 137"},
        {"kill -TERM $$", "ended with exit code 143"},
        {"echo 'c++: fatal error: Killed signal terminated program cc1plus'; exit 1", "Killed"},
        {"echo 'k.cu:1:1: fatal error: error writing to a.s: No space left on device'; exit 1",
         "No space left"},
        {"rm -r $TMPDIR; echo 'kernel.cu: No such file or directory'; exit 1", "No such file"}};
    for (const auto& [does, says] : faults) {
      CAPTURE(does);
      const ScriptedCompiler bench(std::string("[ $1 = --version ] && exec c++ $1; ") + does);
      const CpuCompiler compiler;
      CHECK_THROWS_WITH_AS(static_cast<void>(compiler.compile("probe", kernel(""), {})),
                           doctest::Contains(says), autotune::EnvironmentError);
    }
  }

  TEST_CASE("a compiler that crashes or has no memory left says that the kernel does not compile") {
    for (const char* does : {"kill -SEGV $$", "echo 'cc1plus: out of memory'; exit 1"}) {
      CAPTURE(does);
      const ScriptedCompiler bench(std::string("[ $1 = --version ] && exec c++ $1; ") + does);
      CHECK_FALSE(CpuCompiler().compile("probe", kernel(""), {}).ok);
    }
  }

  TEST_CASE("a compiler that may have less memory than a worker has says nothing of the kernel") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    std::printf("SKIPPED: sanitizers need more address space\n");
    return;
#endif
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit little = {autotune::kCompileMemoryBytes - 1, before.rlim_max};
    for (const char* does : {"kill -SEGV $$", "echo 'cc1plus: out of memory'; exit 1"}) {
      CAPTURE(does);
      const ScriptedCompiler bench(
          std::string("[ $1 = --version ] && exec c++ $1; echo Segmentation fault; ") + does);
      const CpuCompiler compiler;
      ::setrlimit(RLIMIT_AS, &little);
      CHECK_THROWS_AS(static_cast<void>(compiler.compile("probe", kernel(""), {})),
                      autotune::EnvironmentError);
      ::setrlimit(RLIMIT_AS, &before);
      CHECK_FALSE(compiler.compile("probe", kernel(""), {}).ok);
    }
  }

  TEST_CASE("nothing is compiled in a folder that other users can replace") {
    const ScriptedCompiler bench("exec c++ \"$@\"");
    const CpuCompiler compiler;
    std::filesystem::permissions(bench.place, std::filesystem::perms::all);
    CHECK_THROWS_WITH_AS(static_cast<void>(compiler.compile("probe", kernel(""), {})),
                         doctest::Contains("other users can change the folder"),
                         autotune::EnvironmentError);
    CHECK(std::filesystem::is_empty(bench.place));
    const auto sticky = std::filesystem::perms::all | std::filesystem::perms::sticky_bit;
    std::filesystem::permissions(bench.place, sticky);
    CHECK(compiler.compile("probe", kernel(""), {}).ok);
  }

  TEST_CASE("folders of compilers that were killed are removed, and no others") {
    const ScriptedCompiler bench("exec c++ \"$@\"");
    for (const char* name :
         {"autotune-kernel-abandoned", "autotune-kernel-locked", "autotune-kernel-of-another-user",
          "autotune-compile-1-of-version-0.1", "other"}) {
      std::filesystem::create_directory(bench.place / name);
    }
    // Only root can make a folder of another user.
    const std::filesystem::path foreign = bench.place / "autotune-kernel-of-another-user";
    const bool is_foreign = ::chown(foreign.c_str(), 65534, 65534) == 0;
    const autotune::FileDescriptor locked(
        ::open((bench.place / "autotune-kernel-locked").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::flock(locked.get(), LOCK_EX) == 0);
    const CpuCompiler compiler;
    CHECK_FALSE(std::filesystem::exists(bench.place / "autotune-kernel-abandoned"));
    CHECK(std::filesystem::exists(foreign) == is_foreign);
    CHECK(std::filesystem::exists(bench.place / "autotune-compile-1-of-version-0.1"));
    CHECK(std::filesystem::exists(bench.place / "autotune-kernel-locked"));
    CHECK(std::filesystem::exists(bench.place / "other"));
  }

  TEST_CASE("a folder is not abandoned while its compiler works") {
    const ScriptedCompiler bench(
        "[ $1 = --version ] || flock -n $TMPDIR true && exit 9; exec c++ \"$@\"");
    CHECK(CpuCompiler().compile("probe", kernel(""), {}).ok);
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
