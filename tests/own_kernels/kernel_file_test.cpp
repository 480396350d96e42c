#include "own_kernels/kernel_file.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "own_kernels/described_kernel.hpp"
#include "tests/own_kernels/kernel_text.hpp"

namespace autotune::test {
namespace {

constexpr const char* kAxpy = R"(
#define HALF 0.5f
namespace blas { namespace one {
// #pragma kernel tune(COMMENTED = 1)
/*
#pragma kernel tune(COMMENTED = 1)
*/
#pragma kernel tune(BLOCK = 64, 128) default(128) tune(PER_THREAD = range(1, 4)) \
    tune(FAST = false, true)
#pragma unroll
#pragma kernel_tuner restriction(BLOCK * PER_THREAD <= 256, n % PER_THREAD == 0 || n < 100)
#pragma kernel_launcher problem_size(n) block_size(BLOCK) grid_divisor(BLOCK * PER_THREAD)
#pragma kernel buffers(x[2 * n], y[n]) inout(y) data(y = linear(0, 1)) tolerance(y = 1e-6, 1e-5)
#pragma kernel scalar(a = 1.5, stride = n + 1) define(DOUBLE = 2 * BLOCK, N2 = n * n)
#pragma kernel compiler("--use_fast_math" if FAST, "--maxrregcount=" 16 * PER_THREAD)
#pragma kernel work(operations = 2 * n, bytes = 16 * n)
  __global__ void __launch_bounds__(256) axpy(double a, const float2* __restrict__ x,
                                              float *const y, long long n, unsigned int stride) {
    for (int i = 0; i < 0; ++i) { const char* text = "{\"__global__"; }
  }
} }
)";

struct Read {
  KernelFile file;
  OwnKernels own;
  const KernelTemplate& kernel;
  const Operation& operation;

  explicit Read(const std::string& text, const std::string& name = "",
                const KernelFileOptions& options = {})
      : file(read_text(text, options)),
        own(file, file.kernel(name)),
        kernel(own.kernel()),
        operation(*kernel.operation) {}

  [[nodiscard]] Problem problem(std::vector<Problem::Size> sizes) const {
    return problem_of(operation, sizes);
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("a file of kernels") {
  TEST_CASE("needs no reference where nothing is compared, or files have all that is expected") {
    const auto read = [](const std::string& instead) {
      std::string text = kAxpy;
      const std::string tolerance = "tolerance(y = 1e-6, 1e-5)";
      return Read(text.replace(text.find(tolerance), tolerance.size(), instead));
    };
    CHECK(read("").operation.launched_reference != nullptr);
    CHECK(read("results(y = \"y.npy\")").operation.launched_reference != nullptr);
    CHECK(read("unchecked(y)").operation.launched_reference == nullptr);
    CHECK(read("reference(y = \"y.npy\")").operation.launched_reference == nullptr);
    const Read kept = read("unchecked(y) results(y = \"y.npy\") data(y = constant(1))");
    const TensorContent content = kept.operation.contents(kept.problem({{"n", 1000}}))[1];
    CHECK_FALSE(content.is_checked());
    CHECK(content.results.starts_with('/'));  // of the file's folder
  }

  TEST_CASE("describes an operation: tensors, numbers, scalars and work") {
    const Read read(kAxpy);
    CHECK(read.kernel.name == "axpy");
    const Problem problem = read.problem({{"n", 1000}});
    CHECK(problem.key() == "axpy n=1000");
    const std::vector<TensorDesc> tensors = read.operation.tensors(problem);
    REQUIRE(tensors.size() == 2);
    CHECK(tensors[0] ==
          TensorDesc{"x", TensorRole::input, ElementType::f32, 1, 4000, 4000, 1, 4000});
    CHECK(tensors[1].role == TensorRole::inout);
    CHECK(read.operation.numbers(problem) == std::vector<std::int64_t>{1000, 1001});
    CHECK(read.operation.scalars == std::vector<double>{1.5});
    CHECK(read.operation.work(problem).operations == 2000);
    CHECK(read.operation.work(problem).bytes == 16000);
    const std::vector<TensorContent> contents = read.operation.contents(problem);
    CHECK(contents[0].kind == TensorContent::Kind::uniform);
    CHECK(contents[1].kind == TensorContent::Kind::linear);
    CHECK(contents[1].tolerance == Tolerance{1e-6, 1e-5});
    CHECK(read.operation.launched_reference != nullptr);
    using enum ArgumentKind;
    CHECK(read.kernel.signature(problem) == KernelSignature{{scalar, 0, ElementType::f64},
                                                            {tensor, 0, ElementType::f32},
                                                            {tensor, 1, ElementType::f32},
                                                            {size, 0, ElementType::f32},
                                                            {size, 1, ElementType::f32}});
    CHECK(read.operation.text(problem) == "n=1000");
  }

  TEST_CASE("describes a space, of which the size rules configurations out") {
    const Read read(kAxpy);
    CHECK(read.kernel.space.raw_count() == 12);
    CHECK(read.kernel.space.enumerate().configurations.size() == 10);  // 128 x 3 is too many
    const Configuration usual = read.kernel.default_configuration(read.problem({{"n", 99}}));
    CHECK(to_string(usual) == "BLOCK=128,PER_THREAD=1,FAST=0");
    Configuration three = usual;
    three.set("PER_THREAD", 3);
    CHECK(read.kernel.fits(three, read.problem({{"n", 99}})));
    CHECK_FALSE(read.kernel.fits(three, read.problem({{"n", 1000}})));
    CHECK(read.kernel.fits(three, read.problem({{"n", 999}})));
  }

  TEST_CASE("describes launches and the compiler's options") {
    const Read read(kAxpy);
    const Problem problem = read.problem({{"n", 1000}});
    const Configuration configuration({{"BLOCK", 64}, {"PER_THREAD", 2}, {"FAST", 1}});
    const LaunchGeometry geometry = read.kernel.geometry(configuration, problem);
    CHECK(geometry.block == std::array<std::int64_t, 3>{64, 1, 1});
    CHECK(geometry.grid == std::array<std::int64_t, 3>{8, 1, 1});
    const std::vector<std::string> options =
        compile_options(read.kernel, configuration, code_traits(read.kernel, problem), "sm_90");
    for (const char* expected :
         {"-DBLOCK=64", "-DPER_THREAD=2", "-DDOUBLE=128", "-DN2=1000000", "--use_fast_math",
          "--maxrregcount=32", "--device-as-default-execution-space"}) {
      CAPTURE(expected);
      CHECK(std::ranges::count(options, expected) == 1);
    }
  }

  TEST_CASE("becomes code with a C symbol, in which pragmas are comments") {
    const std::string code(Read(kAxpy).kernel.source);
    CHECK(code.starts_with("#line 1 \"k.cu\"\n"));
    CHECK(has(code, "extern \"C\" __global__ void __launch_bounds__(256) axpy(double a"));
    CHECK(has(code, "//pragma kernel work("));
    CHECK(has(code, "#pragma unroll"));
  }

  TEST_CASE("may be one of Kernel Launcher") {
    const Read read(kVectorAdd, "", {.include_folders = {}, .template_arguments = {"double"}});
    CHECK(read.kernel.name == "vector_add_double");
    const std::string code(read.kernel.source);
    CHECK(has(code, "__device__ __forceinline__\nvoid vector_add(int n"));
    CHECK(has(code, "void vector_add_double(int n , double * C , const double * A"));
    CHECK(has(code, "vector_add<double, KERNEL_items_per_thread>(n, C, A, B);"));
    const Problem problem = read.problem({{"n", 1000}});
    CHECK(read.operation.tensors(problem).front().type == ElementType::f64);
    const Configuration usual = read.kernel.default_configuration(problem);
    CHECK(read.kernel.geometry(usual, problem).grid[0] == 32);
    const std::vector<std::string> options =
        compile_options(read.kernel, usual, code_traits(read.kernel, problem), "sm_90");
    CHECK(std::ranges::count(options, "-DKERNEL_items_per_thread=1") == 1);
    CHECK(std::ranges::count(options, "-Ditems_per_thread=1") == 0);
  }

  TEST_CASE("is called by another name than a template that it is made of") {
    const std::string code(Read("#pragma kernel tune(B = 32, 64) block_size(B) problem_size(n)\n"
                                "#pragma kernel buffers(y[n])\n"
                                "template <int B> __global__ void k(float* y, int n) {}\n")
                               .kernel.source);
    CHECK(has(code, "void k_template(float* y, int n) {}"));
    CHECK(has(code, "void k(float * y , int n) {\n  k_template<KERNEL_B>(y, n);"));
  }

  TEST_CASE("has a reference: the default configuration, or another kernel") {
    const Read own(kAxpy);
    const LaunchedReference usual = own.operation.launched_reference(own.problem({{"n", 1000}}));
    CHECK(usual.name == "axpy");
    CHECK(std::ranges::count(usual.options, "-DBLOCK=128") == 1);
    CHECK(usual.geometry.grid[0] == 8);
    const std::string both = std::string(R"(
#pragma kernel block_size(1) problem_size(n) buffers(y[n])
__global__ void plain(float* y, int n) {}
#pragma kernel tune(B = 32, 64) block_size(B) problem_size(n) buffers(y[n]) reference(plain)
__global__ void fast(float* y, int n) {}
)");
    const Read read(both);
    CHECK(read.kernel.name == "fast");
    const LaunchedReference plain = read.operation.launched_reference(read.problem({{"n", 7}}));
    CHECK(plain.name == "plain");
    CHECK(plain.geometry.grid[0] == 7);
    CHECK(Read(both, "plain").kernel.name == "plain");
  }

  TEST_CASE("has a function of the host as its reference, with what is for the device left out") {
    const Read read(R"(#include <vector>
__constant__ float factors[2] = {0.5f, 3};
__device__ float device_only[2] = {1, 2}, more[2] = {3, 4};
template <typename T>
struct Pair {
  __device__ Pair(T value) : a{value}, b{value} {}
  __host__ __device__ T sum() const { return a + b; }
  T a, b;
};
__device__ void barrier() {
#define WIDTH 4
  __syncthreads();
}
namespace by { namespace hand {
void f(double* y, int n) { for (int i = 0; i < n; ++i) y[i] = WIDTH; }
}}
#pragma kernel tune(B = 32, 64) block_size(B) problem_size(n) buffers(y[n]) reference(host(f))
extern "C" __global__ void k(double* const __restrict__ y, const int n) { y[threadIdx.x] = B; }
)");
    const LaunchedReference reference = read.operation.launched_reference(read.problem({{"n", 7}}));
    CHECK(reference.is_on_host());
    CHECK(reference.title() == "f");
    CHECK(reference.name == "autotune_host_reference");
    CHECK(std::ranges::count(reference.options, "-DB=32") == 1);
    for (const char* kept :
         {"#include <vector>", "factors[2] = {0.5f, 3};", "#define WIDTH 4", "T sum() const",
          "T a, b;",
          "void autotune_host_reference(double * const __restrict__ y , const int n) {\n"
          "  by::hand::f(y, n);\n}"}) {
      CAPTURE(kept);
      CHECK(has(reference.source, kept));
    }
    for (const char* left_out : {"threadIdx", "__syncthreads", "device_only", "more", "b{value}"}) {
      CAPTURE(left_out);
      CHECK_FALSE(has(reference.source, left_out));
    }
    CHECK(has(std::string(read.kernel.source), "void f(double* y, int n)"));  // is in the hash
  }

  TEST_CASE("has the files that it includes in its code, and so in its hash") {
    const TemporaryFolder folder;
    const auto write = [&](const std::string& name, const std::string& text) {
      std::filesystem::create_directories((folder.path() / name).parent_path());
      std::ofstream(folder.path() / name) << text;
    };
    write("k/k.cu",
          "#include \"inc/a.h\"\n#include \"b.h\"\n#include <cuda_fp16.h>\n"
          "#pragma kernel block_size(32) problem_size(n) buffers(y[n])\n"
          "__global__ void k(float* y, int n) {}\n");
    write("k/inc/a.h", "#pragma once\n#include \"c.h\"\nint a;\n");
    write("k/inc/c.h", "#include \"a.h\"\nint c;\n");
    write("other/b.h", "int b;");
    const auto code = [&] {
      return read_kernel_file(
                 folder.path() / "k/k.cu",
                 {.include_folders = {folder.path() / "other"}, .template_arguments = {}})
          .kernels.front()
          .code;
    };
    const std::string before = code();
    CHECK(has(before, "int c;"));
    CHECK(has(before, "#line 1 \"b.h\"\nint b;\n#line 3 \"k.cu\"\n#include <cuda_fp16.h>"));
    CHECK_FALSE(has(before, folder.path().string()));
    write("other/b.h", "int b2;");
    CHECK(code() != before);
    CHECK_THROWS_WITH_AS(static_cast<void>(read_kernel_file(folder.path() / "k/k.cu")),
                         "k.cu:2:1: 'b.h' is not there: it must be in the file's folder or in one "
                         "that --include-folder names",
                         UsageError);
  }
}

}  // namespace autotune::test
