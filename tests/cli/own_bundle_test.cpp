// export --bundle of a kernel of a user's own, and applications with what it wrote.
#include <cstdint>
#include <fstream>
#include <span>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "db/tuning_database.hpp"
#include "own_kernels/described_kernel.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/cli/fake_machine.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

// The length of a row is a macro, so each width has code of its own.
constexpr const char* kRowsText = R"(
#pragma kernel tune(BLOCK = 64, 128) problem_size(n) block_size(BLOCK) size(width)
#pragma kernel buffers(x[n * width], y[n]) define(WIDTH = width)
__global__ void add_rows(const float* x, float* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < WIDTH; ++k) sum += x[i * WIDTH + k];
  y[i] = sum;
}
)";

struct OwnBundle : Program {
  std::string file = folder.path() / "rows.cu";
  std::string path = folder.path() / "rows.bundle";

  OwnBundle() { std::ofstream(file) << kRowsText; }

  [[nodiscard]] ProgramResult exported(const std::vector<std::string>& more) const {
    return (*this)(with({"export", "--bundle", path, "--kernel", file, "--size", "n=1000,width=4",
                         "--size", "n=50000,width=4", "--size", "n=1000,width=8"},
                        more));
  }
  [[nodiscard]] Library library() const {
    LibraryOptions options;
    options.bundle = path;
    return Library(options);
  }
};

std::size_t loaded_libraries(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += has(line, name) ? 1 : 0;
  return count;
}

template <typename E, typename Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_SUITE("export --bundle of a kernel of one's own") {
  TEST_CASE("writes what a Library plans and launches without NVRTC and database") {
    if (!can_compile()) return;
    const OwnBundle bundled;
    const ProgramResult result = bundled.exported({"--arch", "sm_90"});
    CAPTURE(result.err);
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "n=50000 width=4: add_rows, no winner is stored: the file's default\n"));
    CHECK(has(result.out, ": 2 kernels for sm_90, "));  // one for each width

    const FakeCuda cuda("devices=1");
    const EnvironmentVariable no_nvrtc("AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so");
    const EnvironmentVariable no_database("AUTOTUNE_DB", "/dev/null/autotune.db");
    const EnvironmentVariable no_cache("XDG_CACHE_HOME", "/dev/null/cache");
    Library library = bundled.library();
    Kernel kernel = library.kernel({bundled.file});
    const KernelConfiguration own = kernel.query({{"n", 1000}, {"width", 8}});
    CHECK(own.match == MatchKind::predicted);
    CHECK(own.explanation == "no winner is stored: the file's default; from the bundle");
    CHECK(has(kernel.query({{"n", 40000}, {"width", 4}}).explanation,
              "chosen in the bundle for n=50000 width=4"));
    const std::size_t compilers = loaded_libraries("libnvrtc");
    auto* const x = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
    auto* const y = reinterpret_cast<float*>(std::uintptr_t{1} << 32);
    CHECK_NOTHROW(kernel.plan({{"n", 1000}, {"width", 8}})(nullptr, x, y, 1000));
    CHECK_NOTHROW(kernel.plan({{"n", 7}, {"width", 8}})(nullptr, x, y, 7));
    CHECK(loaded_libraries("libnvrtc") == compilers);

    CHECK(thrown<EnvironmentError>([&] {
            static_cast<void>(kernel.plan({{"n", 7}, {"width", 5}}));
          }) == "bundle " + bundled.path + ": has no kernel for add_rows n=7 width=5");
    CHECK(thrown<UsageError>([&] {
            kernel.tune({{{"n", 7}, {"width", 8}}});
          }) == "this Library has a bundle: one without tunes");
  }

  TEST_CASE("has the winner, for its device, and is refused for others and for another text") {
    if (!can_compile()) return;
    const OwnBundle bundled;
    const FakeCuda cuda("devices=1");
    {
      const KernelFile file = read_kernel_file(bundled.file);
      const OwnKernels kernels(file, file.kernel(""));
      Winner winner = winner_of(kernels.kernel(), {}, choose_device("0").device);
      winner.problem = Problem("add_rows", {{"n", 900}, {"width", 4}}, {});
      winner.configuration.set("BLOCK", 128);
      TuningDatabase::open(bundled.database).put_winners(std::span(&winner, 1));
    }
    const ProgramResult result = bundled.exported({"--device", "NVIDIA H200"});
    CAPTURE(result.err);
    CHECK(has(result.out, "n=1000 width=4: add_rows, tuned for n=900 width=4"));
    CHECK(has(result.out, ": 2 kernels for NVIDIA H200 (sm_90), "));

    Library library = bundled.library();
    const KernelConfiguration known =
        library.kernel({bundled.file}).query({{"n", 1000}, {"width", 4}});
    CHECK(known.match == MatchKind::nearest_size);
    CHECK(known.configuration.at("BLOCK") == 128);
    CHECK(known.tuned_for == KernelSizes{{"n", 900}, {"width", 4}});
    std::string text = kRowsText;
    text.replace(text.find("sum = 0"), 7, "sum = 1");
    const std::string refused = thrown<EnvironmentError>(
        [&] { static_cast<void>(library.kernel({.file = "rows.cu", .text = text})); });
    CHECK(refused == "bundle " + bundled.path +
                         ": was made of another text of the kernel add_rows, or of another file "
                         "with a kernel of this name: export it anew");
    text.replace(text.find("add_rows"), 8, "add_them");
    CHECK(has(thrown<EnvironmentError>(
                  [&] { static_cast<void>(library.kernel({.file = "rows.cu", .text = text})); }),
              ": has no kernel add_them: "));
    CHECK(has(thrown<EnvironmentError>([&] {
                const float* const a = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
                float* const c = reinterpret_cast<float*>(std::uintptr_t{1} << 32);
                library.gemm({64, 64, 64}, 1, {a}, {a}, 0, {c});
              }),
              "has no kernel for "));
  }

  TEST_CASE("is refused in one line where it cannot be made") {
    const OwnBundle bundled;
    check_line(bundled.exported({"--device", "cpu"}), "a bundle is for a GPU");
    check_line(bundled.exported({"--arch", "sm_90", "--no-portfolio"}), "--no-portfolio: leave it");
    check_line(bundled.exported({"--arch", "sm_90", "--config", "BLOCK=64"}), "--config");
    CHECK_FALSE(std::filesystem::exists(bundled.path));
  }
}

}  // namespace autotune::test
