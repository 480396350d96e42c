// Kernels of the application's own on the CPU device: tuned, chosen and launched.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/autotune.hpp"

#include "tests/api/c_caller.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

constexpr const char* kSaxpy = R"(
#pragma kernel tune(BLOCK = 32, 64, 128) default(64) tune(PER_THREAD = 1, 2)
#pragma kernel set(TILE = BLOCK * PER_THREAD) problem_size(n) block_size(BLOCK) grid_divisor(TILE)
#pragma kernel buffers(x[n], y[n]) inout(y) data(y = uniform(-1, 1)) scalar(a = 2.0)
__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = 0; i < PER_THREAD; ++i) {
    const int place = (blockIdx.x * PER_THREAD + i) * BLOCK + threadIdx.x;
    if (place < n) y[place] += a * x[place];
  }
}
)";

constexpr const char* kFilter = R"(
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) size(radius)
#pragma kernel buffers(x[n], y[n]) define(RADIUS = radius)
__global__ void widen(const int* x, int* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i] * RADIUS;
}
)";

constexpr const char* kWrong = R"(
#ifndef BLOCK
#define BLOCK 32
#endif
#pragma kernel problem_size(n) block_size(32) buffers(y[n])
__global__ void right(float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = 1;
}
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) buffers(y[n]) reference(right)
__global__ void wrong(float* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = 2;
}
)";

// Only the configuration that is not the default is right.
constexpr const char* kOneRight = R"(
#ifndef BLOCK
#define BLOCK 32
#endif
#pragma kernel problem_size(n) block_size(32) buffers(y[n])
__global__ void ones(float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = 1;
}
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) buffers(y[n]) reference(ones)
__global__ void one_right(float* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = BLOCK == 64 ? 1 : 2;
}
)";

constexpr const char* kBytes = R"(
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) buffers(x[n], y[n])
__global__ void bytes(const unsigned char* x, long long* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)";

constexpr const char* kTriples = R"(
#pragma kernel tune(BLOCK = 32, 64) problem_size(n) block_size(BLOCK) buffers(x[n]) inout(x)
__global__ void twice(float3* x, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) x[i].x *= 2;
}
)";

class Fixture {
 public:
  explicit Fixture(MissPolicy miss = MissPolicy::predict) : library_(options(miss)) {}

  Kernel saxpy() { return kernel(kSaxpy); }
  Kernel kernel(const std::string& text) {
    return library_.kernel({.file = "own.cu", .name = {}, .text = text});
  }

 private:
  static LibraryOptions options(MissPolicy miss) {
    LibraryOptions options;
    options.device = Device::cpu();
    options.miss = miss;
    options.miss_budget_seconds = 60;  // it ends with its space
    return options;
  }

  TemporaryStorage storage_;
  Library library_;
};

// Launches saxpy and returns whether each result is right.
template <typename Launch>
bool is_right(std::int64_t n, Launch launch) {
  std::vector<float> x(static_cast<std::size_t>(n));
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 1;
  }
  launch(x.data(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (y[i] != 1 + 3 * static_cast<float>(i)) return false;
  }
  return true;
}

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST_SUITE("own kernels in an application") {
  TEST_CASE("a kernel runs untuned with the file's default, and tuned with the winner") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    CHECK(saxpy.name() == "saxpy");
    CHECK(saxpy.sizes() == std::vector<std::string>{"n"});
    const KernelPlan before = saxpy.plan({{"n", 1000}});
    CHECK(before.choice().match == MatchKind::predicted);
    CHECK(to_string(before.choice().configuration) == "BLOCK=64,PER_THREAD=1");
    CHECK(is_right(1000, [&](float* x, float* y) { before(nullptr, 3.0F, x, y, 1000); }));

    const KernelTuningResult result = saxpy.tune({{{"n", 1000}}});
    CHECK(result.measured == 6);
    CHECK(result.complete);
    REQUIRE(result.problems.size() == 1);
    REQUIRE(result.problems[0].winner);
    const KernelPlan after = saxpy.plan({{"n", 1000}});
    CHECK(after.choice().match == MatchKind::exact);
    CHECK(after.choice().configuration == result.problems[0].winner->configuration);
    CHECK(after.choice().median_us == result.problems[0].winner->median_us);
    CHECK(is_right(1000, [&](float* x, float* y) { after(nullptr, 3.0F, x, y, 1000); }));
    CHECK(before.choice().match == MatchKind::predicted);
  }

  TEST_CASE("other sizes get the configuration of the nearest ones") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    saxpy.tune({{{"n", 1000}}});
    const KernelConfiguration near = saxpy.query({{"n", 1500}});
    CHECK(near.match == MatchKind::nearest_size);
    CHECK(near.tuned_for == KernelSizes{{"n", 1000}});
    CHECK(is_right(1500, [&](float* x, float* y) { saxpy.launch(nullptr, 3.0F, x, y, 1500); }));
  }

  TEST_CASE("a launch takes its sizes from its arguments, whatever their number's type") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    CHECK(is_right(77, [&](float* x, float* y) { saxpy.launch(nullptr, 3.0, x, y, 77L); }));
    CHECK(is_right(78, [&](float* x, float* y) { saxpy.launch(nullptr, 3, x, y, 78U); }));
  }

  TEST_CASE("plans outlive the kernel and the library") {
    KernelPlan plan;
    {
      Fixture fixture;
      plan = fixture.saxpy().plan({{"n", 100}});
    }
    CHECK(is_right(100, [&](float* x, float* y) { plan(nullptr, 3.0F, x, y, 100); }));
  }

  TEST_CASE("a size that is no argument needs a plan") {
    Fixture fixture;
    Kernel widen = fixture.kernel(kFilter);
    std::vector<int> x(10, 7);
    std::vector<int> y(10);
    widen.plan({{"n", 10}, {"radius", 3}})(nullptr, x.data(), y.data(), 10);
    CHECK(y == std::vector<int>(10, 21));
    CHECK(refusal([&] { widen.launch(nullptr, x.data(), y.data(), 10); }) ==
          "widen: the size radius is no argument: give the sizes by their names");
    const LaunchArgument arguments[] = {x.data(), y.data(), 10};
    widen.run({{"n", 10}, {"radius", 4}}, nullptr, arguments, 3);
    CHECK(y == std::vector<int>(10, 28));
  }

  TEST_CASE("wrong calls are refused in one line") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    const KernelPlan plan = saxpy.plan({{"n", 100}});
    std::vector<float> x(100);
    float* const y = x.data();
    CHECK(refusal([&] { plan(nullptr, 3.0F, y, y); }) == "saxpy has 4 arguments, but 3 were given");
    CHECK(refusal([&] { plan(nullptr, 3.0F, y, y, 99); }) ==
          "saxpy: argument n must be 100 for these sizes");
    CHECK(refusal([&] { plan(nullptr, 3.0F, y, y, 100.0); }) ==
          "saxpy: argument n must be 100 for these sizes");
    CHECK(refusal([&] { plan(nullptr, 3.0F, static_cast<float*>(nullptr), y, 100); }) ==
          "saxpy: argument x is null");
    CHECK(refusal([&] { plan(nullptr, 3.0F, reinterpret_cast<char*>(y) + 2, y, 100); }) ==
          "saxpy: argument x must be a multiple of 4 bytes");
    CHECK(refusal([&] { plan(nullptr, y, y, y, 100); }) ==
          "saxpy: argument a is a number, not an address");
    CHECK(refusal([&] { plan(nullptr, 3.0F, 5, y, 100); }) ==
          "saxpy: argument x is the address of a buffer");
    CHECK(refusal([&] { plan(reinterpret_cast<Stream>(8), 3.0F, y, y, 100); }) ==
          "stream: the CPU device has none");
    CHECK(refusal([&] {
            static_cast<void>(saxpy.plan({{"m", 3}}));
          }) == "saxpy has no size 'm': its sizes are n");
    CHECK(refusal([&] {
            static_cast<void>(saxpy.plan({{"n", 0}}));
          }) == "saxpy's size 'n' is 0: it must be from 1 to 2147483647");
    CHECK(refusal([&] {
            saxpy.tune({{{"n", -5}}});
          }) == "saxpy's size 'n' is -5: it must be from 1 to 2147483647");
    CHECK(refusal([&] { saxpy.launch(nullptr, 3.0F, y, y, std::uint64_t{1} << 63); }) ==
          "saxpy: argument n is a whole number");
    CHECK(refusal([&] {
            std::vector<double> wrong(100);
            plan(nullptr, 3.0F, wrong.data(), y, 100);
          }) == "saxpy: argument x points to f64: the kernel has f32");
    CHECK(refusal([&] { plan(nullptr, 3.0F, y, static_cast<const float*>(y), 100); }) ==
          "saxpy: argument y is written to, and points to constants");
    CHECK(refusal([&] { plan(nullptr, 3.0F, nullptr, y, 100); }) == "saxpy: argument x is null");
    CHECK(refusal([&] { saxpy.tune({}); }) == "tune() was given no sizes");
    TuningOptions options;
    options.max_error = 0.1;
    CHECK(refusal([&] {
            saxpy.tune({{{"n", 3}}}, options);
          }) == "max_error is for products: a kernel's tolerances stand in its file");
    CHECK(refusal([&] { KernelPlan()(nullptr); }) == "this KernelPlan is empty");
    CHECK(refusal([&] { static_cast<void>(Kernel().name()); }) == "this Kernel is empty");
    CHECK(refusal([&] { fixture.kernel("#pragma kernel tune(A = 1)\n"); }).starts_with("own.cu:"));
  }

  TEST_CASE("the C API does the same") {
    const TemporaryStorage storage;
    Caller caller;
    REQUIRE(autotune_open(&caller.options, &caller.library) == AUTOTUNE_OK);
    autotune_kernel_source source{};
    source.size = sizeof source;
    source.file = "own.cu";
    source.text = kSaxpy;
    autotune_kernel* kernel = nullptr;
    REQUIRE_MESSAGE(autotune_kernel_open(caller.library, &source, &kernel) == AUTOTUNE_OK,
                    autotune_last_error());
    const autotune_kernel_size sizes[] = {{"n", 100}};
    CHECK(autotune_kernel_tune(kernel, sizes, 1, nullptr, &caller.result) == AUTOTUNE_OK);
    CHECK(caller.result.measured == 6);
    CHECK(caller.result.tuned == 1);
    CHECK(autotune_kernel_query(kernel, sizes, 1, &caller.choice) == AUTOTUNE_OK);
    CHECK(caller.choice.match == AUTOTUNE_EXACT);
    CHECK(std::string(caller.choice.kernel) == "saxpy");

    autotune_kernel_argument argument{};
    argument.size = sizeof argument;
    CHECK(autotune_kernel_argument_at(kernel, sizes, 1, 2, &argument) == AUTOTUNE_OK);
    CHECK(std::string(argument.name) == "y");
    CHECK(argument.kind == AUTOTUNE_ADDRESS);
    CHECK(argument.type == AUTOTUNE_F32);
    CHECK(argument.elements == 100);
    CHECK(argument.is_written == 1);
    CHECK(autotune_kernel_argument_at(kernel, nullptr, 0, 3, &argument) == AUTOTUNE_OK);
    CHECK(argument.is_size == 1);
    CHECK(autotune_kernel_argument_at(kernel, sizes, 1, 4, &argument) == AUTOTUNE_USAGE);
    CHECK(std::string(autotune_last_error()) == "index is 4: saxpy has 4 arguments");

    CHECK(is_right(100, [&](float* x, float* y) {
      const autotune_launch_argument values[] = {{AUTOTUNE_REAL, 0, nullptr, 0, 3},
                                                 {AUTOTUNE_ADDRESS, 0, x, 0, 0},
                                                 {AUTOTUNE_ADDRESS, 0, y, 0, 0},
                                                 {AUTOTUNE_WHOLE, 0, nullptr, 100, 0}};
      CHECK(autotune_kernel_launch(kernel, nullptr, 0, values, 4, nullptr) == AUTOTUNE_OK);
    }));
    const autotune_launch_argument wrong = {3, 0, nullptr, 0, 0};
    CHECK(autotune_kernel_launch(kernel, nullptr, 0, &wrong, 1, nullptr) == AUTOTUNE_USAGE);
    CHECK(std::string(autotune_last_error()) == "kind is 3: it must be from 0 to 2");
    const autotune_kernel_size twice[] = {{"n", 1}, {"n", 2}};
    CHECK(autotune_kernel_query(kernel, twice, 2, &caller.choice) == AUTOTUNE_USAGE);
    CHECK(std::string(autotune_last_error()) == "the size n is given twice");
    autotune_kernel_close(kernel);
    autotune_close(caller.library);
  }

  TEST_CASE("the policy says what happens to sizes that were not tuned") {
    Fixture refusing(MissPolicy::refuse);
    Kernel refused = refusing.saxpy();
    CHECK_THROWS_AS(static_cast<void>(refused.plan({{"n", 100}})), NotTunedError);
    Fixture tuning(MissPolicy::tune);
    Kernel tuned = tuning.saxpy();
    CHECK(tuned.plan({{"n", 100}}).choice().match == MatchKind::exact);
  }

  TEST_CASE("a kernel without a right configuration is not run where the policy tunes") {
    Fixture tuning(MissPolicy::tune);
    Kernel wrong = tuning.kernel(std::string(kWrong));
    std::vector<float> y(10);
    for (int call = 0; call < 2; ++call) {
      CHECK_THROWS_AS(wrong.launch(nullptr, y.data(), 10), NotTunedError);
    }
    CHECK(y == std::vector<float>(10));
  }

  TEST_CASE("sizes with the same configuration share its code") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    const auto mapped = [] {
      std::ifstream maps("/proc/self/maps");
      std::string line;
      std::size_t lines = 0;
      while (std::getline(maps, line)) ++lines;
      return lines;
    };
    std::vector<float> x(300);
    saxpy.launch(nullptr, 3.0F, x.data(), x.data(), 200);
    const std::size_t before = mapped();
    for (int n = 201; n <= 300; ++n) saxpy.launch(nullptr, 3.0F, x.data(), x.data(), n);
    CHECK(mapped() < before + 50);
  }

  TEST_CASE("vectors of three have the alignment of their elements") {
    Fixture fixture;
    std::vector<float> memory(31, 2);
    fixture.kernel(kTriples).launch(nullptr, static_cast<void*>(memory.data() + 1), 10);
    CHECK(memory.front() == 2);
    CHECK(memory[1] == 4);
    CHECK(memory.back() == 2);
  }

  TEST_CASE("a launch sees what another Kernel of the same name has tuned") {
    Fixture fixture;
    Kernel first = fixture.kernel(kOneRight);
    Kernel second = fixture.kernel(kOneRight);
    std::vector<float> y(10);
    first.launch(nullptr, y.data(), 10);
    CHECK(y == std::vector<float>(10, 2));
    second.tune({{{"n", 10}}});
    first.launch(nullptr, y.data(), 10);
    CHECK(y == std::vector<float>(10, 1));
  }

  TEST_CASE("the kernels of a Library share its threads") {
    Fixture fixture;
    const auto threads = [] {
      const std::filesystem::directory_iterator tasks("/proc/self/task");
      return std::distance(begin(tasks), end(tasks));
    };
    std::vector<float> x(10);
    fixture.saxpy().launch(nullptr, 3.0F, x.data(), x.data(), 10);
    const auto before = threads();
    std::vector<Kernel> kernels;
    for (int i = 0; i < 4; ++i) {
      kernels.push_back(fixture.saxpy());
      kernels.back().launch(nullptr, 3.0F, x.data(), x.data(), 10);
    }
    CHECK(threads() == before);
  }

  TEST_CASE("buffers may be of bytes and of integers of 64 bits") {
    Fixture fixture;
    Kernel bytes = fixture.kernel(kBytes);
    CHECK(bytes.arguments({})[0].type == ElementType::u8);
    const std::vector<unsigned char> x(10, 200);
    std::vector<std::int64_t> y(10);
    std::vector<std::uint64_t> same(10);
    bytes.launch(nullptr, x.data(), y.data(), 10);
    bytes.launch(nullptr, x.data(), same.data(), 10);
    CHECK(y == std::vector<std::int64_t>(10, 200));
    CHECK(refusal([&] {
            std::vector<int> wrong(10);
            bytes.launch(nullptr, x.data(), wrong.data(), 10);
          }) == "bytes: argument y points to i32: the kernel has i64");
  }

  TEST_CASE("a changed text makes results stale") {
    Fixture fixture;
    fixture.saxpy().tune({{{"n", 1000}}});
    const std::string changed = std::string(kSaxpy) + "// changed\n";
    CHECK(fixture.kernel(changed).query({{"n", 1000}}).match == MatchKind::exact_stale);
  }

  TEST_CASE("a forked process refuses a kernel and ends without a fault") {
    Fixture fixture;
    Kernel saxpy = fixture.saxpy();
    const KernelPlan plan = saxpy.plan({{"n", 100}});
    const pid_t child = ::fork();
    if (child == 0) {
      float value = 0;
      const bool refused = refusal([&] { plan(nullptr, 3.0F, &value, &value, 100); }) != "" &&
                           refusal([&] {
                             static_cast<void>(saxpy.plan({{"n", 100}}));
                           }) != "";
      { const Kernel last = std::move(saxpy); }
      ::_exit(refused ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace
}  // namespace autotune::test
