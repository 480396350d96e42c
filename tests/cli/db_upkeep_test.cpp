// Looking at stored trials and removing them: query --top, db list, top, rm and prune.
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

// 30 trials of gemm_tiled at 64 and 20 of gemm_simt at 128; a higher number is a slower one.
struct UpkeepProgram : Program {
  UpkeepProgram() {
    add("gemm_tiled", square(64), 30);
    add("gemm_simt", square(128), 20);
  }

  static Problem square(std::int64_t size) { return GemmProblem{.m = size, .n = size, .k = size}; }

  // of: a template of this program; the trials are of that, unless `name` is another.
  void add(const std::string& of, const Problem& problem, int count, const std::string& source = "",
           std::string name = "") const {
    const KernelTemplate& kernel = *built_in_kernels().find(of);
    if (name.empty()) name = of;
    const TrialScope scope = {"sm_90 test",
                              name,
                              kernel.space_version,
                              source.empty() ? content_hash(kernel.source) : source,
                              {"580.1", "13.0.88", "0.1.0", kMeasuringProtocol}};
    const auto configurations = kernel.space.enumerate().configurations;
    std::vector<Trial> trials;
    for (int i = count - 1; i >= 0; --i) {
      Trial& trial = trials.emplace_back();
      trial.problem = problem;
      trial.template_name = name;
      trial.configuration = configurations[static_cast<std::size_t>(i)];
      trial.measurement.median_us = 10 + i;
    }
    TuningDatabase::open(database).add_trials(
        scope, {name + source, "Test GPU", "GPU-1", "autotune", "2026"}, trials);
  }
};

TEST_SUITE("upkeep of the database") {
  TEST_CASE("query --top prints the fastest trials of a size, the fastest first") {
    const UpkeepProgram program;
    const ProgramResult result =
        program({"query", "--device", "Test GPU", "--sizes", "64", "--top", "3", "--json"});
    REQUIRE(result.exit_code == kSuccess);
    const json results = json::parse(result.out)["results"];
    REQUIRE(results.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(results[i]["median_us"] == 10 + i);
      CHECK(results[i]["m"] == 64);
      CHECK(results[i]["device"] == "Test GPU");
    }
    CHECK(program({"query", "--device", "Test GPU", "--sizes", "65", "--top", "3"}).exit_code ==
          kNothingStored);
  }

  TEST_CASE("db top prints them of every size") {
    const UpkeepProgram program;
    const ProgramResult result = program({"db", "top", "--count", "2", "--csv"});
    REQUIRE(result.exit_code == kSuccess);
    CHECK(lines(result.out) == 5);
    CHECK(has(result.out, "64,64,64,NN,strict,ok,measured,,Test GPU,gemm_tiled"));
    CHECK(has(result.out, "128,128,128,NN,strict,ok,measured,,Test GPU,gemm_simt"));
    CHECK(lines(program({"db", "top", "--template", "gemm_simt"}).out) == 11);
    const json document = json::parse(program({"db", "top", "--json"}).out);
    CHECK(document["results"].size() > 0);
    for (const char* figure : {"measured", "known"}) CHECK_FALSE(document.contains(figure));
  }

  TEST_CASE("db list counts the trials of each size") {
    const UpkeepProgram program;
    const json results = json::parse(program({"db", "list", "--json"}).out)["results"];
    REQUIRE(results.size() == 2);
    CHECK(results[0]["trials"] == 30);
    CHECK(results[0]["template"] == "gemm_tiled");
    CHECK(results[1]["m"] == 128);
    CHECK(results[1]["median_us"] == 10);
    const ProgramResult table = program({"db", "list", "--sizes", "128"});
    CHECK(lines(table.out) == 2);
    CHECK(has(table.out, "128x128x128  strict  gemm_simt      20       20"));
  }

  TEST_CASE("options choose by layout, batch and math, and wrong names are told") {
    const UpkeepProgram program;
    CHECK(program({"db", "list", "--layout", "TT"}).exit_code == kNothingStored);
    CHECK(program({"db", "list", "--batch", "2"}).exit_code == kNothingStored);
    CHECK(program({"db", "top", "--math", "tf32"}).exit_code == kNothingStored);
    CHECK(lines(program({"db", "list", "--layout", "NN", "--batch", "1"}).out) == 3);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"db", "list"}, {"db", "top"}, {"report"}}) {
      const ProgramResult unknown = program(with(command, {"--template", "gemm_no"}));
      CHECK(unknown.exit_code == kUsage);
      CHECK(has(unknown.err, "--template: no template 'gemm_no'"));
      const ProgramResult elsewhere = program(with(command, {"--device", "no such"}));
      CHECK(elsewhere.exit_code == kNothingStored);
      CHECK(has(elsewhere.err, "devices with results: "));
    }
  }

  TEST_CASE("db rm removes what was chosen, and --dry-run nothing") {
    const UpkeepProgram program;
    const ProgramResult dry = program({"db", "rm", "--sizes", "64", "--dry-run"});
    CHECK(dry.exit_code == kSuccess);
    CHECK(has(dry.out, "64x64x64"));
    CHECK_FALSE(has(dry.out, "128x128x128"));
    CHECK(TuningDatabase::open(program.database).stats().trials == 50);
    CHECK(program({"db", "rm", "--sizes", "64"}).out == "30 trials, 0 winners removed\n");
    CHECK(program({"db", "rm", "--sizes", "64"}).exit_code == kNothingStored);
    CHECK(TuningDatabase::open(program.database).stats().trials == 20);
    CHECK(program({"db", "rm", "--all"}).out == "20 trials, 0 winners removed\n");
  }

  TEST_CASE("problems that this program does not have are listed and removed, and do no harm") {
    const UpkeepProgram program;
    const std::string other = "gemm m=64 n=64 k=64 groups=2 type=f32 layout=NN math=fp8";
    program.add("gemm_tiled", Problem::parse(other), 3);
    program.add("gemm_tiled", Problem::parse("gemm m=-1"), 1);
    Winner winner;
    winner.device_class = "sm_90 test";
    winner.device_label = "Test GPU";
    winner.template_name = "gemm_simt";
    winner.problem = Problem::parse("gemm x=7 type=f32 layout=NN math=strict");
    winner.median_us = 1;
    winner.measured_at = "9999";
    TuningDatabase::open(program.database).put_winners({&winner, 1});
    const ProgramResult table = program({"db", "list"});
    CHECK(table.exit_code == kSuccess);
    CHECK(lines(table.out) == 6);
    CHECK(has(table.out, other));
    CHECK(has(table.out, winner.problem.key()));
    const json results = json::parse(program({"db", "list", "--json"}).out)["results"];
    REQUIRE(results.size() == 5);
    CHECK(std::ranges::count_if(results, [&](const json& result) {
            return result.value("problem", "") == other && result["trials"] == 3;
          }) == 1);
    CHECK(lines(program({"db", "list", "--sizes", "64"}).out) == 2);
    CHECK(lines(program({"db", "top", "--count", "2", "--csv"}).out) == 5);
    CHECK(lines(program({"db", "export", "--format", "csv"}).out) == 51);
    CHECK(program({"db", "export", "--format", "json"}).exit_code == kSuccess);
    CHECK(program({"query", "--device", "Test GPU", "--sizes", "96"}).exit_code == kSuccess);
    CHECK(program({"query", "--device", "Test GPU"}).exit_code == kSuccess);
    CHECK(program({"report", "--output", program.folder.path() / "a.html"}).exit_code == kSuccess);
    CHECK(has(program({"db", "rm", "--template", "gemm_tiled", "--dry-run"}).out, other));
    CHECK(program({"db", "rm", "--sizes", "64"}).out == "30 trials, 0 winners removed\n");
    CHECK(program({"db", "prune"}).out.rfind("4 trials, 1 winner removed, ", 0) == 0);
    program.add("gemm_tiled", Problem::parse(other), 3);
    CHECK(program({"db", "rm", "--all"}).out == "23 trials, 0 winners removed\n");
    CHECK(program({"db", "rm", "--all"}).exit_code == kNothingStored);
  }

  TEST_CASE("results of a template that is gone are kept, listed and exported, never answered") {
    const UpkeepProgram program;
    program.add("gemm_tiled", UpkeepProgram::square(64), 2, "", "gemm_gone");
    Winner winner;
    winner.device_class = "sm_90 test";
    winner.device_label = "Test GPU";
    winner.template_name = "gemm_gone";
    winner.problem = UpkeepProgram::square(64);
    winner.median_us = 1;
    winner.measured_at = "9999";
    TuningDatabase::open(program.database).put_winners({&winner, 1});
    CHECK(has(program({"db", "list"}).out, "gemm_gone"));
    CHECK(has(program({"query", "--device", "Test GPU", "--sizes", "64", "--top", "60"}).out,
              "gemm_gone"));
    const ProgramResult exported = program({"db", "export", "--format", "json"});
    CHECK(exported.exit_code == kSuccess);
    CHECK(has(exported.out, "gemm_gone"));
    for (const char* size : {"64", "65"}) {
      const ProgramResult answer = program({"query", "--device", "Test GPU", "--sizes", size});
      CHECK(answer.exit_code == kSuccess);
      CHECK_FALSE(has(answer.out, "gemm_gone"));
      CHECK(has(answer.out, "gemm_tiled"));
    }
    CHECK(program({"db", "rm", "--template", "gemm_gone"}).out == "2 trials, 1 winner removed\n");
  }

  TEST_CASE("db prune removes trials of other sources of a template") {
    const UpkeepProgram program;
    program.add("gemm_tiled", UpkeepProgram::square(64), 25, "another source");
    CHECK(program({"db", "prune"}).out.rfind("25 trials, 0 winners removed, ", 0) == 0);
    CHECK(TuningDatabase::open(program.database).stats().trials == 50);
  }
}

TEST_SUITE("templates") {
  TEST_CASE("every parameter has its values and every rule its words") {
    const Program program;
    const json templates = json::parse(program({"templates", "--json"}).out)["templates"];
    REQUIRE(templates.size() == built_in_kernels().templates().size());
    const json tiled =
        json::parse(program({"templates", "--template", "gemm_tiled", "--json"}).out);
    REQUIRE(tiled["templates"].size() == 1);
    const json& kernel = tiled["templates"][0];
    CHECK(kernel["configurations"] == 15552);
    CHECK(kernel["compute_capability"] == "5.0 or newer");
    CHECK(kernel["parameters"][0]["name"] == "TILE_WIDTH");
    CHECK(kernel["parameters"][0]["values"] == json({8, 16, 32}));
    CHECK(kernel["rules"][0]["meaning"] == "RESULTS_M * RESULTS_N is at most 32");
    const std::string text = program({"templates", "--template", "gemm_tma"}).out;
    CHECK(has(text, "gemm_tma: gemm, compute capability 9.0 to 11.x, "));
    CHECK(has(text, "RASTER"));
  }
}

}  // namespace
}  // namespace autotune::test
