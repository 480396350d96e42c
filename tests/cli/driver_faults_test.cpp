// The program against a driver that fails on command: whatever goes wrong, it ends with a
// documented exit code and a clear line, leaves no process behind and a database that opens.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "autotune/problem.hpp"

#include "tests/cli/fake_machine.hpp"
#include "tests/support/fake_cuda.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune::test {
namespace {

void check_candidate_faults(const std::string& call, const std::string& from,
                            const std::string& status) {
  if (!can_compile()) return;
  const FakeMachine machine;
  // Stores what the device can do, so that workers measure candidates at once.
  REQUIRE(machine.tune("", "1").exit_code == kSuccess);
  for (const int code : kPoisonousCodes) {
    const std::string script = call + ":" + std::to_string(code) + from;
    const ProgramResult result = machine.tune(script, "1");
    CAPTURE(script);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.exit_code == kNoneCorrect);
    CHECK(has(result.out, status));
    CHECK(has(result.out, "64x64x64: no configuration gave a correct result"));
    CHECK_FALSE(has(result.err, "waiting for another run"));  // the last one left no lock
  }
}

TEST_SUITE("driver faults") {
  TEST_CASE("devices lists both GPUs and the CPU device") {
    const ProgramResult result = FakeMachine().run("devices=2", {"devices"});
    CHECK(result.exit_code == kSuccess);
    CHECK(result.err == "");
    CHECK(lines(result.out) == 4);
    CHECK(has(result.out, "\ncpu "));
    CHECK(has(result.out, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"));
    CHECK(has(result.out, "GPU-00010203-0405-0607-0809-0a0b0c0d0e10"));
  }

  TEST_CASE("doctor prints clocks, power, persistence and processes of a GPU") {
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    const auto gpu_of = [&] {
      return nlohmann::json::parse(program({"doctor", "--json"}).out)["gpus"][0];
    };
    CHECK(gpu_of()["sm_clock_mhz"].is_null());
    program.environment.emplace_back("LD_LIBRARY_PATH", AUTOTUNE_BINARY_DIR "/tests/fake_nvml");
    const nlohmann::json gpu = gpu_of();
    CHECK(gpu["sm_clock_mhz"] == 345);
    CHECK(gpu["power_limit_milliwatts"] == 700000);
    CHECK(gpu["persistence"] == 0);
    CHECK(gpu["processes"] == 2);
    const std::string text = program({"doctor"}).out;
    CHECK(has(text, "SM clock 345 of 1980 MHz, 76 of 700 W, persistence off, MIG off, 2 other"));
    CHECK(has(text, "-> other programs have the GPU open"));
  }

  TEST_CASE("a driver that hangs keeps doctor from nothing else, and --version from nothing") {
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("FAKE_CUDA", "cuInit:hang");
    CHECK(program({"--version"}).exit_code == kSuccess);
    RunningProgram doctor(program, {"doctor"});
    doctor.wait_for_words("waiting for the NVIDIA driver");
    const ProgramResult known = doctor.finish_with(SIGKILL);
    for (const char* check : {"program ", "\nC++ ", "\ndatabase ", "\ncubins ", "\nNVRTC "}) {
      CHECK(has(known.out, check));
    }
  }

  TEST_CASE("what cuBLAS is compared with is never dropped in silence") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_CUBLAS", "/nonexistent/libcublas.so");
    for (const char* known : {"1 measured, 0 known", "0 measured, 1 known"}) {
      const ProgramResult result = program({"--sizes", "64", "--template", "gemm_tiled", "--trials",
                                            "1", "--jobs", "1", "--compare", "cublas"});
      CAPTURE(result.err);
      CHECK(result.exit_code == kSuccess);
      CHECK(has(result.out, known));
      CHECK(has(result.err, "autotune: warning: --compare: 64x64x64: cublas "));
      CHECK(has(result.err, "AUTOTUNE_CUBLAS"));
    }
  }

  TEST_CASE("tune and bench compare with the best of cuBLAS's algorithms") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_CUBLAS", AUTOTUNE_FAKE_CUBLAS);
    program.environment.emplace_back("FAKE_CUBLAS_AUTOTUNE", "3000");
    program.environment.emplace_back("FAKE_CUBLAS", "2000,-,1000,1500");
    const auto first_of = [](const ProgramResult& result) {
      CAPTURE(result.err);
      REQUIRE(result.exit_code == kSuccess);
      CHECK(result.err.find("cublas") == std::string::npos);
      return nlohmann::json::parse(result.out)["results"][0];
    };
    const nlohmann::json tuned =
        first_of(program({"--sizes", "16", "--template", "gemm_tiled", "--trials", "1", "--jobs",
                          "1", "--compare", "cublas", "--json"}));
    CHECK(tuned["cublas_us"].get<double>() == doctest::Approx(1000));
    CHECK(tuned["cublas"]["algorithm"] == 2);
    CHECK(tuned["cublas"]["version"] == "13.1.0");
    CHECK(tuned["template"] == "gemm_tiled");
    const std::vector<std::string> bench = {"bench",  "--sizes",  "16", "--against",
                                            "cublas", "--rounds", "6"};
    std::vector<std::string> in_json = bench;
    in_json.emplace_back("--json");
    const nlohmann::json against = first_of(program(in_json))["against"];
    CHECK(against["median_us"].get<double>() == doctest::Approx(1000));
    CHECK(against["algorithm"] == 2);
    CHECK(against["version"] == "13.1.0");
    CHECK(has(program(bench).out, "cuBLAS 13.1.0, cublasLt candidate 2"));
    program.environment.emplace_back("FAKE_CUBLAS_AUTOTUNE", "700");
    CHECK(has(program(bench).out, "cuBLAS 13.1.0, CUBLAS_GEMM_AUTOTUNE"));
  }

  TEST_CASE("comparisons are kept beside the winner") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_CUBLAS", AUTOTUNE_FAKE_CUBLAS);
    program.environment.emplace_back("FAKE_CUBLAS_AUTOTUNE", "3000");
    program.environment.emplace_back("FAKE_CUBLAS", "900,800");
    const auto kept = [&] {
      std::vector<std::string> in_json = {"query", "--sizes", "16", "--json"};
      return nlohmann::json::parse(program(in_json).out)["results"][0];
    };
    const ProgramResult tuned = program({"--sizes", "16", "--template", "gemm_tiled", "--trials",
                                         "1", "--jobs", "1", "--compare", "cublas"});
    CAPTURE(tuned.err);
    CHECK(tuned.exit_code == kSuccess);
    CHECK(kept()["cublas_us"].get<double>() == doctest::Approx(800));
    CHECK(kept()["cublas"]["algorithm"] == 1);
    const double speedup = kept()["cublas"]["speedup"];

    program.environment.back().second = "1600";
    const ProgramResult benched =
        program({"bench", "--sizes", "16", "--against", "cublas", "--rounds", "6"});
    CAPTURE(benched.out);
    CAPTURE(benched.err);
    CHECK(benched.exit_code == kSuccess);
    CHECK(kept()["cublas_us"].get<double>() == doctest::Approx(1600));
    CHECK(kept()["cublas"]["algorithm"] == 0);
    CHECK(kept()["cublas"]["speedup"].get<double>() == doctest::Approx(2 * speedup));
    const ProgramResult explained = program({"query", "--sizes", "16", "--explain"});
    CHECK(has(explained.out, "of cuBLAS"));
    CHECK(has(explained.out, "cublas 13.1.0, algorithm 0: 1600"));
  }

  TEST_CASE("a comparison of a trial that did not win leaves the winner as it was") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_CUBLAS", AUTOTUNE_FAKE_CUBLAS);
    REQUIRE(program({"--sizes", "16", "--template", "gemm_tiled", "--trials", "1", "--jobs", "1"})
                .exit_code == kSuccess);
    TuningDatabase database = TuningDatabase::open(program.database);
    Winner winner = database.winners({}).at(0);
    const std::string tried = to_string(winner.configuration);
    winner.configuration.set("PADDING", 1 - winner.configuration.at("PADDING"));
    database.put_winners({&winner, 1});
    CHECK(program({"bench", "--sizes", "16", "--template", "gemm_tiled", "--config", tried,
                   "--against", "cublas", "--rounds", "6"})
              .exit_code == kSuccess);
    const Winner kept = database.winners({}).at(0);
    CHECK(kept.configuration == winner.configuration);
    CHECK(kept.confirmed);
    CHECK_FALSE(kept.baseline);
  }

  TEST_CASE("a comparison with a cuBLAS that is not there says so and fails") {
    if (!can_compile()) return;
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_CUBLAS", "/nonexistent/libcublas.so");
    const ProgramResult result = program({"bench", "--sizes", "64", "--against", "cublas"});
    CAPTURE(result.err);
    CHECK(result.exit_code == kEnvironment);
    CHECK(has(result.out, "not compared"));
    CHECK(has(result.err,
              "autotune: 64x64x64: the cuBLAS that AUTOTUNE_CUBLAS names cannot be opened: "
              "/nonexistent/libcublas.so was not found"));
  }

  TEST_CASE("a machine without a GPU uses the CPU device and says why") {
    struct Case {
      const char* script;
      const char* reason;
    };
    const FakeMachine machine;
    for (const Case& c :
         {Case{"stub", "is the CUDA toolkit's stub"}, Case{"devices=0", "it sees no GPU"}}) {
      CAPTURE(c.script);
      const ProgramResult result = machine.run(c.script, {"run", "--sizes", "16"});
      CHECK(result.exit_code == kSuccess);
      CHECK(result.out.rfind("cpu: ", 0) == 0);
      check_line(result, c.reason);
      check_line(machine.run(c.script, {"run", "--sizes", "16", "--device", "0"}), c.reason);
      check_line(machine.run(c.script, {"devices"}), c.reason);
    }
  }

  TEST_CASE("a driver that cannot be used ends every command with its reason") {
    struct Case {
      const char* script;
      const char* reason;
    };
    const Case cases[] = {{"driver=11030", "supports CUDA 11.3, but 12.0 is needed"},
                          {"cuInit:803", "(803)"},
                          {"cuDeviceGetCount:999", "cuDeviceGetCount"},
                          {"cuDeviceGetName:700", "cuDeviceGetName"}};
    const FakeMachine machine;
    for (const Case& c : cases) {
      CAPTURE(c.script);
      for (const std::vector<std::string>& arguments :
           {std::vector<std::string>{"devices"}, {"--sizes", "64"}, {"run", "--sizes", "64"}}) {
        const ProgramResult result = machine.run(c.script, arguments);
        CHECK(result.exit_code == kEnvironment);
        CHECK(result.out == "");
        check_line(result, c.reason);
      }
    }
  }

  TEST_CASE("a driver without faults finds a winner") {
    if (!can_compile()) return;
    const ProgramResult result = FakeMachine().tune("", "3");
    CAPTURE(result.err);
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "3 measured"));
  }

  // For each moment: from the first call on that is about a candidate. Loading the kernels that
  // check, filling operands and waiting for them come before.
  TEST_CASE("each poisonous code at loading costs the candidate alone") {
    check_candidate_faults("cuModuleLoadData", "@3+", "1 could not be loaded (load_failed)\n");
  }
  TEST_CASE("each poisonous code at launching costs the candidate alone") {
    check_candidate_faults("cuLaunchKernelEx", "@7+",
                           "1 could not be launched, or faulted (launch_failed)\n");
  }
  TEST_CASE("each poisonous code at synchronising costs the candidate alone") {
    check_candidate_faults("cuStreamSynchronize", "@2+",
                           "1 could not be launched, or faulted (launch_failed)\n");
  }

  TEST_CASE("a candidate that faults is followed by others in a new worker") {
    if (!can_compile()) return;
    const FakeMachine machine;
    // The first worker's fourth module is the first candidate; later workers measure no rates, and
    // their fourth is their second candidate.
    const ProgramResult result = machine.tune("cuModuleLoadData:700@4", "3");
    CAPTURE(result.err);
    CHECK(has(result.out, "3 measured"));
    CHECK(has(result.out, "2 could not be loaded (load_failed)\n"));
  }

  TEST_CASE("a driver that always faults ends the search") {
    if (!can_compile()) return;
    const FakeMachine machine;
    for (const char* script :
         {"cuModuleLoadData:700", "cuStreamSynchronize:700", "cuLaunchKernelEx:719",
          "cuDevicePrimaryCtxRetain:46", "cuStreamCreate:2", "cuEventCreate:2", "cuMemAlloc:2",
          "cuMemHostAlloc:2", "cuMemGetInfo:2", "cuCtxPushCurrent:201", "cuEventRecord:700",
          "cuModuleGetFunction:500", "cuFuncGetAttribute:1"}) {
      CAPTURE(script);
      const ProgramResult result = machine.tune(script, "2");
      CAPTURE(result.err);
      if (result.exit_code == kEnvironment) {
        check_line(result, std::string(script).substr(0, std::string(script).find(':')));
      } else {
        CHECK(result.exit_code == kNoneCorrect);
        CHECK(has(result.out, "no configuration gave a correct result"));
      }
    }
  }

  TEST_CASE("a size that memory does not suffice for is reported so") {
    if (!can_compile()) return;
    const FakeMachine machine;
    REQUIRE(machine.tune("", "1").exit_code == kSuccess);
    for (const char* script : {"cuMemAlloc:2@2+", "memory=300000000"}) {
      CAPTURE(script);
      const ProgramResult result = machine.tune(script, "3");
      CHECK(result.exit_code == kEnvironment);
      check_line(result, "64x64x64 needs");
    }
  }
}

TEST_SUITE("ProcessWorker on a driver") {
  TEST_CASE("a driver that hangs is given up and the next worker answers") {
    if (!can_compile()) return;
    FakeCuda fake;
    MeasureRequest request = test::request_for({.m = 8, .n = 8, .k = 8});
    request.kernel_name = "any";
    request.cubin = "// PTX";
    request.timing.samples = 0;
    for (const char* script : {"cuInit:hang", "cuStreamSynchronize:hang@1"}) {
      CAPTURE(script);
      fake.set_script(script);
      const auto worker = make_process_worker(AUTOTUNE_PROGRAM, 0);
      const WorkerOutcome outcome = worker->call(request, std::chrono::seconds(2));
      REQUIRE(std::holds_alternative<WorkerFailure>(outcome));
      CHECK(std::get<WorkerFailure>(outcome).kind == WorkerFailure::Kind::timed_out);
      CHECK(std::get<WorkerFailure>(outcome).reason == "no answer within 2000 ms, killed");
      fake.set_script("");
      const WorkerOutcome next = worker->call(request, std::chrono::minutes(2));
      REQUIRE(std::holds_alternative<WorkerReply>(next));
      CHECK(std::get<MeasureReply>(std::get<WorkerReply>(next)).status == TrialStatus::ok);
    }
  }
}

}  // namespace
}  // namespace autotune::test
