// The cache of chosen and loaded kernels, used by several threads.
#include "api/kernel_cache.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "api/setup.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/app/api/gemm_traits.hpp"
#include "tests/app/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

DeviceInfo some_gpu() {
  DeviceInfo device;
  device.label = "Test GPU";
  device.compute_major = 9;
  device.max_threads_per_block = 1024;
  device.shared_per_block = 48 << 10;
  device.shared_per_block_optin = 227 << 10;
  return device;
}

// All kernels of these problems, those of the first template, are in the cubin store.
GemmProblem problem(std::int64_t m) {
  return {.m = 8 + m, .n = 512, .k = 64};
}
void fill_store() {
  CubinStore store = open_cubin_store();
  const KernelTemplate& kernel = built_in_kernels().templates().front();
  for (std::int64_t m = 1; m <= 8; ++m) {
    const Configuration configuration = kernel.default_configuration(problem(m));
    store.put(
        cubin_key("any", std::string(kernel.source),
                  compile_options(kernel, configuration, code_traits(kernel, problem(m)), "sm_90")),
        {to_string(configuration), "", {}});
  }
}

TEST_SUITE("KernelCache") {
  TEST_CASE("each kernel is loaded once a context, whoever asks and how often") {
    const TemporaryStorage storage;
    fill_store();
    KernelSelector supply(some_gpu(), "");
    KernelCache<std::string> kernels(supply);
    std::atomic<int> loads = 0;
    const auto load = [&](const std::string& image, const std::string&, const LaunchGeometry&) {
      ++loads;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for others to come too
      return std::make_unique<std::string>(image);
    };
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < 40; ++i) {
          const std::uint64_t context = static_cast<std::uint64_t>(i % 2);
          const GemmProblem asked = problem(1 + i / 2 % 8);
          const auto prepared = kernels.find_or_prepare(context, asked, Placement::aligned, load);
          const KernelTemplate& kernel = built_in_kernels().templates().front();
          const Configuration expected = kernel.default_configuration(asked);
          if (*prepared.kernel != to_string(expected)) ++wrong;
          if (prepared.geometry != kernel.geometry(expected, asked).on_device(some_gpu().sm_count))
            ++wrong;
          if (i == 20) kernels.forget_choices();
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
    CHECK(loads == static_cast<int>(kernels.loaded().size()));
    CHECK(loads % 2 == 0);
  }

  TEST_CASE("a kernel that does not load is tried again") {
    const TemporaryStorage storage;
    fill_store();
    KernelSelector supply(some_gpu(), "");
    KernelCache<int> kernels(supply);
    const auto fail = [](const std::string&, const std::string&,
                         const LaunchGeometry&) -> std::unique_ptr<int> {
      throw Error("no memory");
    };
    CHECK_THROWS_AS(kernels.find_or_prepare(0, problem(1), Placement::aligned, fail), Error);
    const auto load = [](const std::string&, const std::string&, const LaunchGeometry&) {
      return std::make_unique<int>(7);
    };
    CHECK(*kernels.find_or_prepare(0, problem(1), Placement::aligned, load).kernel == 7);
  }

  TEST_CASE("a kernel for aligned operands gets tensor maps, one for any operands none") {
    const TemporaryStorage storage;
    const GemmProblem large{.m = 2048, .n = 2048, .k = 2048};
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tma");
    for (const bool aligned : {false, true}) {
      open_cubin_store().put(cubin_key("any", std::string(kernel.source),
                                       compile_options(kernel, kernel.default_configuration(large),
                                                       traits_of(large, aligned), "sm_90")),
                             {aligned ? "aligned" : "any", "", {}});
    }
    KernelSelector supply(some_gpu(), "");
    KernelCache<std::string> kernels(supply);
    const auto load = [](const std::string& image, const std::string&, const LaunchGeometry&) {
      return std::make_unique<std::string>(image);
    };
    const auto aligned = kernels.find_or_prepare(0, large, Placement::aligned, load);
    CHECK(*aligned.kernel == "aligned");
    CHECK(aligned.geometry.needs_map(kGemmB));
    const auto any = kernels.find_or_prepare(0, large, Placement::anywhere, load);
    CHECK(*any.kernel == "any");
    CHECK_FALSE(any.geometry.needs_map(kGemmB));
    CHECK(any.geometry.dynamic_shared_bytes == aligned.geometry.dynamic_shared_bytes);
  }
}

}  // namespace
}  // namespace autotune::test
