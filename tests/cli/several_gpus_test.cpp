// --device all, and the locks of devices: the program on several GPUs that are scripted.
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "core/posix/file_descriptor.hpp"
#include "tests/cli/fake_machine.hpp"

namespace autotune::test {
namespace {

// Acts like another run that is at work on GPU 0.
FileDescriptor lock_first_gpu(const FakeMachine& machine) {
  const std::string path =
      machine.folder() / "autotune-GPU-00010203-0405-0607-0809-0a0b0c0d0e0f.lock";
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
  return file;
}

const std::vector<std::string> kAllAsJson = {"--fresh", "--device", "all", "--json"};

TEST_SUITE("several GPUs") {
  TEST_CASE("all of them are used") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const ProgramResult result = machine.tune("devices=3", "6", kAllAsJson);
    REQUIRE(result.exit_code == kSuccess);
    CHECK(result.err == "");
    const auto document = nlohmann::json::parse(result.out);
    CHECK(document["measured"] == 6);
    REQUIRE(document["devices"].size() == 3);
    for (int i = 0; i < 3; ++i) {
      const auto& device = document["devices"][static_cast<std::size_t>(i)];
      CHECK(device["ordinal"] == i);
      CHECK(device["failure"] == "");
    }
    // Another device of the same class knows the results of these.
    CHECK(has(machine.tune("devices=3", "6", {"--device", "2"}).out, "\n0 measured, 6 known"));
  }

  TEST_CASE("one that cannot be opened is named and leaves its work to the others") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const ProgramResult result =
        machine.tune("devices=2;cuDevicePrimaryCtxRetain:46#1", "6", kAllAsJson);
    REQUIRE(result.exit_code == kSuccess);
    CHECK(lines(result.err) == 1);
    CHECK(has(result.err,
              "autotune: GPU 1 (NVIDIA H200) has failed and leaves its work to the others"));
    CHECK(has(result.err, "cuDevicePrimaryCtxRetain"));
    const auto document = nlohmann::json::parse(result.out);
    CHECK(document["measured"] == 6);
    CHECK(document["devices"][0]["failure"] == "");
    CHECK(has(document["devices"][1]["failure"], "cuDevicePrimaryCtxRetain"));
  }

  TEST_CASE("one whose load is not told is used all the same, with a warning") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("FAKE_CUDA", "devices=2");
    program.environment.emplace_back("LD_LIBRARY_PATH", AUTOTUNE_BINARY_DIR "/tests/fake_nvml");
    program.environment.emplace_back("FAKE_NVML_HANGS", "GPU-00010203-0405-0607-0809-0a0b0c0d0e10");
    std::vector<std::string> tune = small_search("6");
    tune.insert(tune.end(), {"--device", "all", "--json"});
    const ProgramResult result = program(tune);
    REQUIRE(result.exit_code == kSuccess);
    check_line(result,
               "warning: GPU 1 (NVIDIA H200): the driver does not say whether other programs use "
               "the GPU");
    CHECK(nlohmann::json::parse(result.out)["measured"] == 6);
  }

  TEST_CASE("what fails on one of them alone is not stored") {
    if (!can_compile()) return;
    const FakeMachine machine;
    // Behind the rates, with which each is tried out.
    const ProgramResult result =
        machine.tune("devices=2;cuModuleLoadData:700@3+#1", "6", {"--fresh", "--device", "all"});
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "2 x NVIDIA H200 (sm_90"));
    CHECK(has(result.out, "\n6 measured"));
    CHECK(has(result.out, " s: 2 GPUs busy "));
    CHECK(has(result.out, " was the limit)\n"));
    CHECK_FALSE(has(result.out, "load_failed"));
  }

  TEST_CASE("when all fail, so does the run") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const ProgramResult result =
        machine.tune("devices=2;cuDevicePrimaryCtxRetain:46", "6", kAllAsJson);
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.err, "has failed and leaves its work to the others"));
    CHECK(has(result.err, "autotune: nothing could be measured on the device"));
    CHECK(lines(result.err) == 2);
  }

  TEST_CASE("different kinds of GPUs are not mixed") {
    const FakeMachine machine;
    constexpr const char* kScript = "devices=3;attribute16#1=66";  // its number of SMs
    const ProgramResult result = machine.tune(kScript, "6", kAllAsJson);
    CHECK(result.exit_code == kEnvironment);
    CHECK(lines(result.err) == 1);
    CHECK(has(result.err, "sm_90/132sm"));
    CHECK(has(result.err, ": GPU 0 (NVIDIA H200), GPU 2 (NVIDIA H200); "));
    CHECK(has(result.err, "sm_90/66sm"));
    CHECK(has(result.err, ": GPU 1 (NVIDIA H200). Tune each with --device NUMBER"));
  }

  TEST_CASE("a machine without a GPU has none of them, and only tune takes them all") {
    const FakeMachine machine;
    const ProgramResult none = machine.tune("devices=0", "6", kAllAsJson);
    CHECK(none.exit_code == kEnvironment);
    CHECK(has(none.err, "it sees no GPU"));
    const ProgramResult run = machine.run("devices=2", {"run", "--sizes", "64", "--device", "all"});
    CHECK(run.exit_code == kUsage);
    CHECK(has(run.err, "--device: 'all' must be auto, cpu or the number of a GPU"));
  }

  TEST_CASE("one that another run uses is not waited for while there is another") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const FileDescriptor lock = lock_first_gpu(machine);
    const ProgramResult result = machine.tune("devices=2", "3", kAllAsJson);
    CHECK(result.exit_code == kSuccess);
    CHECK(result.err ==
          "autotune: waiting for another run that times kernels on GPU 0 (NVIDIA H200)\n");
    const auto document = nlohmann::json::parse(result.out);
    CHECK(document["measured"] == 3);
    CHECK(document["devices"][0]["busy_s"] == 0);
  }

  TEST_CASE("runs on two of them with one database measure nothing twice") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const auto run = [&](const char* device) {
      return machine.run("devices=2", {"--device", device, "--sizes", "64,96", "--template",
                                       "gemm_tiled", "--tile-width", "16", "--results-per-thread",
                                       "2x2", "--unroll", "16", "--jobs", "1", "--json"});
    };
    ProgramResult second;
    std::thread other([&] { second = run("1"); });
    const ProgramResult first = run("0");
    other.join();
    REQUIRE(first.exit_code == kSuccess);
    REQUIRE(second.exit_code == kSuccess);
    const auto a = nlohmann::json::parse(first.out);
    const auto b = nlohmann::json::parse(second.out);
    const int all = a["measured"].get<int>() + a["known"].get<int>();
    CHECK(all > 10);
    CHECK(a["measured"].get<int>() + b["measured"].get<int>() == all);
    CHECK(b["measured"].get<int>() + b["known"].get<int>() == all);
  }

  TEST_CASE("a request whose results are known waits for no device") {
    if (!can_compile()) return;
    const FakeMachine machine;
    REQUIRE(machine.tune("", "3", {}).exit_code == kSuccess);
    const FileDescriptor lock = lock_first_gpu(machine);
    const ProgramResult again = machine.tune("", "3", {});
    CHECK(again.exit_code == kSuccess);
    CHECK(again.err == "");
    CHECK(has(again.out, "\n0 measured, 3 known"));
  }
}

}  // namespace
}  // namespace autotune::test
