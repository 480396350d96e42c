// A measuring process that runs for long: its use of the machine does not grow.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "autotune/problem.hpp"

#include "gpu/shared_library.hpp"
#include "tests/cli/fake_machine.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune::test {
namespace {

namespace fs = std::filesystem;

std::int64_t resident_bytes() {
  std::int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t entries_of(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

// The objects that the driver made and did not get back, by the names of the functions that make
// them.
class Holdings {
 public:
  void update() {
    std::istringstream calls(library_.function<const char* (*)()>("fake_cuda_take_calls")());
    for (std::string call; calls >> call;) {
      if (call == "cuModuleLoadData") ++held["modules"];
      if (call == "cuModuleUnload") --held["modules"];
      if (call == "cuMemAlloc") ++held["memory"];
      if (call == "cuMemFree") --held["memory"];
      if (call == "cuEventCreate") ++held["events"];
      if (call == "cuEventDestroy") --held["events"];
      if (call == "cuGraphInstantiateWithFlags") ++held["graphs"];
      if (call == "cuGraphExecDestroy") --held["graphs"];
    }
  }
  std::map<std::string, int> held;

 private:
  gpu::SharedLibrary library_ = *gpu::SharedLibrary::open(AUTOTUNE_FAKE_CUDA);
};

int candidates() {
  const char* text = std::getenv("AUTOTUNE_TEST_CANDIDATES");
  return text != nullptr ? std::atoi(text) : 2000;
}

TEST_SUITE("soak") {
  TEST_CASE("candidate after candidate takes no more memory, files or threads") {
    if (!can_compile()) return;
    const FakeCuda fake;
    const auto service = make_gpu_service(0);
    const auto measure = [&](int first, int count) {
      for (int i = first; i < first + count; ++i) {
        MeasureRequest request = test::request_for({.m = 8, .n = 8 + i % 3, .k = 8});
        request.kernel_name = "any";
        request.cubin = "// PTX of candidate " + std::to_string(i);
        request.timing.samples = 3;
        if (i % 10 == 0)
          request.cubin =
              "\x7f"
              "ELF and nothing more";
        const auto reply = std::get<MeasureReply>(service->handle(request));
        const bool is_right =
            reply.status == (i % 10 == 0 ? TrialStatus::load_failed : TrialStatus::ok);
        if (!is_right) FAIL(reply.detail);
      }
    };
    Holdings holdings;
    measure(0, 500);
    holdings.update();
    const std::map<std::string, int> held = holdings.held;
    const std::int64_t bytes = resident_bytes();
    const std::int64_t files = entries_of("/proc/self/fd");
    const std::int64_t threads = entries_of("/proc/self/task");
    for (int done = 500; done < candidates(); done += 500) {
      measure(done, 500);
      holdings.update();
      CHECK(holdings.held == held);
    }
    CHECK(entries_of("/proc/self/fd") == files);
    CHECK(entries_of("/proc/self/task") == threads);
    CHECK(resident_bytes() < bytes + (4 << 20));
  }
}

}  // namespace
}  // namespace autotune::test
