// The output of analyze: the textbooks' figures, with a compiler and without one.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "autotune/problem.hpp"

#include "core/hash.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

// With the NVRTC of this machine, if it has one.
struct Analyze : Program {
  json operator()(Arguments arguments) const {
    arguments.insert(arguments.begin(), "analyze");
    arguments.emplace_back("--json");
    const ProgramResult result = Program::operator()(arguments);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(result.err == "");
    return json::parse(result.out);
  }
};

struct AnalyzeWithoutNvrtc : Analyze {
  AnalyzeWithoutNvrtc() { environment.emplace_back("AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so"); }
};

std::size_t notes_with(const json& document, const std::string& word) {
  std::size_t count = 0;
  for (const std::string note : document["notes"]) {
    if (note.find(word) != std::string::npos) ++count;
  }
  return count;
}

// A device that tuning knows, with its rates.
struct Stored : AnalyzeWithoutNvrtc {
  explicit Stored(const std::string& architecture = "sm_90") {
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    Winner winner;
    winner.device_class = architecture + "/100sm/test";
    winner.device_label = "Test GPU";
    winner.problem = GemmProblem{.m = 1024, .n = 1024, .k = 1024};
    winner.template_name = kernel.name;
    winner.space_version = kernel.space_version;
    winner.source_hash = content_hash(kernel.source);
    winner.environment = {"580.1", "13.0.88", "0.1.0", kMeasuringProtocol};
    winner.configuration =
        kernel.default_configuration(GemmProblem{.m = 4096, .n = 4096, .k = 4096});
    winner.median_us = 100;
    winner.confirmed = true;
    winner.rates = DeviceRates{50000, 4000};
    TuningDatabase opened = TuningDatabase::open(database);
    opened.put_winners({&winner, 1});
  }
};

TEST_SUITE("analyze") {
  TEST_CASE("one result with tiles of 16") {
    const json d = AnalyzeWithoutNvrtc()({"--tile-width", "16", "--results-per-thread", "1",
                                          "--arch", "sm_90", "--limit", "shared_per_sm=16384"});
    CHECK(d["threads"] == 256);
    CHECK(d["loads_per_phase"] == 512);
    CHECK(d["operations_per_phase"] == 8192);
    CHECK(d["operations_per_load"] == 16);
    CHECK(d["operations_per_load"].is_number_integer());
    CHECK(d["shared_bytes"] == 2048);
    CHECK(d["reserved_shared_bytes"] == 0);
    CHECK(d["blocks_per_sm"] == 8);
    CHECK(d["limits"]["shared_per_sm"] == 8);
    CHECK(d["pending_loads"] == 4096);
  }

  TEST_CASE("one result with tiles of 32") {
    Arguments arguments = {"--template", "gemm_tiled", "--tile-width", "32",
                           "--arch",     "sm_90",      "--limit",      "shared_per_sm=16384"};
    const json d = AnalyzeWithoutNvrtc()(arguments);
    CHECK(d["threads"] == 1024);
    CHECK(d["operations_per_load"] == 32);
    CHECK(d["shared_bytes"] == 8192);
    CHECK(d["limits"]["shared_per_sm"] == 2);
    CHECK(d["blocks_per_sm"] == 2);
    arguments.insert(arguments.end(), {"--limit", "threads_per_sm=1536"});
    const json fewer = AnalyzeWithoutNvrtc()(arguments);
    CHECK(fewer["limits"]["shared_per_sm"] == 2);
    CHECK(fewer["limits"]["threads_per_sm"] == 1);
    CHECK(fewer["blocks_per_sm"] == 1);
    CHECK(fewer["limited_by"] == "threads_per_sm");
  }

  TEST_CASE("the golden document, without NVRTC") {
    const AnalyzeWithoutNvrtc analyze;
    const ProgramResult result = analyze.Program::operator()(
        {"analyze", "--config",
         "TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=2,A_TRANSPOSED=1,"
         "PADDING=1,VECTOR_WIDTH=4,PREFETCH=0",
         "--device", "NVIDIA H200", "--sizes", "1000x999x500", "--json"});
    CHECK(result.out == golden("analyze.json"));
  }

  TEST_CASE("without NVRTC registers are null, with one note") {
    const json d = AnalyzeWithoutNvrtc()({"--arch", "sm_90", "--sizes", "1024"});
    CHECK(d["registers"].is_null());
    CHECK(d["spill_bytes"].is_null());
    CHECK(d["limits"]["registers_per_sm"].is_null());
    CHECK(notes_with(d, "registers") == 1);
    CHECK(notes_with(d, "/nonexistent/libnvrtc.so") == 1);
    CHECK(d["waves"].is_null());
    CHECK(notes_with(d, "waves") == 1);
  }

  TEST_CASE("without a C++ compiler accesses are null, with one note") {
    AnalyzeWithoutNvrtc analyze;
    analyze.environment.emplace_back("CXX", "/nonexistent/c++");
    const json d = analyze({"--arch", "sm_90", "--sizes", "1024"});
    CHECK(d["accesses"].is_null());
    CHECK(notes_with(d, "accesses") == 1);
    CHECK(notes_with(d, "/nonexistent/c++") == 1);
    CHECK(d["threads"] == 256);
  }

  TEST_CASE("accesses of a kernel that only a GPU runs are null, with one note") {
    const json d = AnalyzeWithoutNvrtc()({"--template", "gemm_tma", "--arch", "sm_90"});
    CHECK(d["accesses"].is_null());
    CHECK(notes_with(d, "gemm_tma does not run on the CPU device, which traces them: the CPU ") ==
          1);
    CHECK(notes_with(d, "error") == 0);  // of the compiler
  }

  TEST_CASE("with NVRTC registers are the compiler's") {
    const Analyze analyze;
    const json d =
        analyze({"--tile-width", "16", "--arch", "sm_90", "--limit", "shared_per_sm=16384"});
    if (d["registers"].is_null()) {
      std::printf("SKIPPED: %s\n", d["notes"].dump().c_str());
      return;
    }
    CHECK(d["registers"] > 0);
    CHECK(d["spill_bytes"] == 0);
    CHECK(d["limits"]["registers_per_sm"] > 0);
    CHECK(d["blocks_per_sm"] == 8);
    CHECK(notes_with(d, "registers") == 0);
    // CUDA 13 is too new for it.
    if (const json old = analyze({"--arch", "sm_50"}); old["registers"].is_null()) {
      CHECK(notes_with(old, "sm_50") == 1);
    }
  }

  TEST_CASE("without a device only --limit is known") {
    const json d = AnalyzeWithoutNvrtc()({"--tile-width", "16", "--limit", "shared_per_sm=16384"});
    CHECK(d["blocks_per_sm"] == 8);
    CHECK(d["limits"]["threads_per_sm"].is_null());
    CHECK(notes_with(d, "registers") == 1);
    const json nothing = AnalyzeWithoutNvrtc()({});
    CHECK(nothing["blocks_per_sm"].is_null());
    CHECK(nothing["pending_loads"].is_null());
    CHECK(nothing["threads"] == 256);
  }

  TEST_CASE("a device's best configuration, its SMs and rates") {
    const json d = Stored()({"--device", "test gpu", "--sizes", "1024"});
    CHECK(d["device"]["label"] == "Test GPU");
    CHECK(d["device"]["architecture"] == "sm_90");
    CHECK(d["device"]["sm_count"] == 100);
    CHECK(d["configuration"]["RESULTS_M"] == 8);
    CHECK(d["blocks"] == 128);
    CHECK(d["waves"].get<double>() ==
          doctest::Approx(128.0 / (100 * d["blocks_per_sm"].get<double>())));
    CHECK(d["roofline"]["bound_us"].get<double>() ==
          doctest::Approx(2.0 * 1024 * 1024 * 1024 / 50000 * 1e-3));
    CHECK(d["roofline"]["bound_by"] == "arithmetic");
    CHECK(notes_with(d, "roofline") == 0);
  }

  TEST_CASE("the roofline of a template is that of its tensor cores") {
    const Arguments product = {"--device",   "test gpu",  "--sizes", "1024",
                               "--template", "gemm_tf32", "--math",  "emulated"};
    const json d = Stored()(product);
    CHECK(d["roofline"]["compute_us"].get<double>() ==
          doctest::Approx(3 * 2.0 * 1024 * 1024 * 1024 / (8 * 50000) * 1e-3));
    CHECK(d["roofline"]["memory_us"].get<double>() ==
          doctest::Approx(3 * 4.0 * 1024 * 1024 / 4000 * 1e-3));
    const json unknown = Stored("sm_120")(product);
    CHECK(unknown["roofline"].is_null());
    CHECK(notes_with(unknown, "the rate of the tensor cores of sm_120 is not known") == 1);
    CHECK(notes_with(unknown, "roofline") == 1);
  }

  TEST_CASE("what the hardware reserves counts unless shared_per_sm is given") {
    const AnalyzeWithoutNvrtc analyze;
    CHECK(analyze({"--arch", "sm_90"})["reserved_shared_bytes"] == 1024);
    CHECK(analyze({"--arch", "sm_75"})["reserved_shared_bytes"] == 0);
    CHECK(analyze({"--limit", "shared_per_sm=65536", "--limit",
                   "shared_reserved_per_block=512"})["reserved_shared_bytes"] == 512);
  }

  TEST_CASE("what is left out of --config fits what is given") {
    const json d = AnalyzeWithoutNvrtc()({"--config", "TILE_WIDTH=32,RESULTS_M=1,RESULTS_N=1"});
    CHECK(d["configuration"]["PREFETCH"] == 0);
    CHECK(d["configuration"]["VECTOR_WIDTH"] == 1);
    CHECK(d["threads"] == 1024);
    const json plain = AnalyzeWithoutNvrtc()({"--tile-width", "32", "--results-per-thread", "1"});
    CHECK(d["configuration"] == plain["configuration"]);
    const json wide = AnalyzeWithoutNvrtc()({"--config", "TILE_WIDTH=32"});
    CHECK(wide["configuration"]["RESULTS_M"] == 4);  // of the default's 8
    CHECK(wide["configuration"]["RESULTS_N"] == 4);
    CHECK(wide["configuration"]["UNROLL"] == 32);
  }

  TEST_CASE("what does not go with the default is said once") {
    const Program program;
    const std::vector<std::string> run = {"run",     "--device", "cpu",
                                          "--sizes", "64,33,34", "--config"};
    const ProgramResult adapted = program(with(run, {"TILE_WIDTH=8"}));
    CHECK(adapted.exit_code == kSuccess);
    CHECK(adapted.err ==
          "autotune: --config: TILE_WIDTH=8 goes with UNROLL=8 here, in place of "
          "the default's UNROLL=16\n");
    CHECK(program(with(run, {"TILE_WIDTH=16"})).err == "");
  }

  TEST_CASE("the text has the same figures") {
    const AnalyzeWithoutNvrtc analyze;
    const ProgramResult result = analyze.Program::operator()(
        {"analyze", "--tile-width", "16", "--limit", "shared_per_sm=16384"});
    CHECK(result.exit_code == 0);
    for (const char* text : {"pending loads         4096\n", "shared bytes          2048\n",
                             "shared_per_sm                 8  binds\n", "wavefronts\n"}) {
      CHECK(result.out.find(text) != std::string::npos);
    }
    CHECK(lines(result.err) == 2);
  }
}

}  // namespace
}  // namespace autotune::test
