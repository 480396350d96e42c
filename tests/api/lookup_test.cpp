// Which winner answers for a problem.
#include "select/lookup.hpp"

#include <doctest/doctest.h>

#include "api/device_choice.hpp"
#include "api/kernel_selector.hpp"
#include "core/hash.hpp"
#include "db/shipped_winners.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/support/portfolios.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

Winner timed_winner(const std::string& template_name, const GemmProblem& problem, double us) {
  Winner winner = winner_of(*built_in_kernels().find(template_name), problem, DeviceInfo{});
  winner.device_class = "class";
  winner.median_us = winner.low_us = winner.high_us = us;
  return winner;
}

TEST_SUITE("lookup") {
  TEST_CASE("a faster winner that cannot serve a size does not hide one that can") {
    const GemmProblem tuned{.m = 32, .n = 4096, .k = 4096};
    const GemmProblem far{.m = 32, .n = 512, .k = 512};
    TuningDatabase database = TuningDatabase::in_memory();
    for (const Winner& winner :
         {timed_winner("gemm_skinny", tuned, 10), timed_winner("gemm_simt", tuned, 11),
          timed_winner("gemm_simt", far, 1)}) {
      database.put_winners({&winner, 1});
    }
    const DeviceQuery device{built_in_kernels(), "class", "", {}};
    const auto best = [&](const GemmProblem& problem, bool without_skinny) {
      return find_best(&database, device, problem, false,
                       [&](const Winner& winner) {
                         return !without_skinny || winner.template_name != "gemm_skinny";
                       })
          ->winner;
    };
    CHECK(best(tuned, false).template_name == "gemm_skinny");
    const GemmProblem wider{.m = 33, .n = 4096, .k = 4096};  // than gemm_skinny supports
    CHECK(best(wider, false).template_name == "gemm_simt");
    CHECK(best(wider, false).problem == tuned);
    CHECK(best(tuned, true).template_name == "gemm_simt");
    CHECK(best(tuned, true).problem == tuned);
  }

  TEST_CASE("a trial that was there at the finals does not hide the winner, a later one does") {
    const GemmProblem problem{.m = 2, .n = 3000, .k = 4000};
    TuningDatabase database = TuningDatabase::in_memory();
    Winner winner = timed_winner("gemm_skinny", problem, 60);
    winner.confirmed = true;
    winner.measured_at = "9999-11-21T05:40:44Z";  // by a wrong clock
    const auto store_trial = [&](const std::string& guid, double us) {
      const Winner fast = timed_winner("gemm_simt", problem, us);
      const RunInfo run{.guid = guid, .started_at = "2026-11-21T05:40:10Z"};
      Trial trial{.problem = problem, .configuration = fast.configuration};
      trial.measurement.median_us = us;
      database.add_trials({"class", fast.template_name, fast.space_version, fast.source_hash, {}},
                          run, {&trial, 1});
    };
    const DeviceQuery device{built_in_kernels(), "class", "", {}};
    const auto best = [&](bool without_skinny) {
      return find_best(&database, device, problem, true,
                       [&](const Winner& candidate) {
                         return !without_skinny || candidate.template_name != "gemm_skinny";
                       })
          ->winner.template_name;
    };
    store_trial("earlier", 50);
    store_trial("the winner's", 49);
    const ResultRow row = winner;
    database.add_results({.guid = "the winner's"}, {&row, 1});
    CHECK(best(false) == "gemm_skinny");
    CHECK(best(true) == "gemm_simt");  // where the winner cannot serve
    store_trial("later", 48);
    CHECK(best(false) == "gemm_simt");
  }

  // As a newer version may store, or a file that was made by hand.
  TEST_CASE("a result of a problem that the operation does not have costs no other one") {
    const GemmProblem tuned{.m = 64, .n = 64, .k = 64};
    TuningDatabase database = TuningDatabase::in_memory();
    Winner winner = timed_winner("gemm_simt", tuned, 10);
    winner.device_label = "Test GPU";
    database.put_winners({&winner, 1});
    for (const char* const key : {"gemm m=65 type=f32 layout=NN math=strict",
                                  "gemm x=65 y=65 z=65 type=f32 layout=NN math=strict",
                                  "gemm m=-65 n=65 k=65 type=f32 layout=NN math=strict",
                                  "gemm m=65 n=65 k=65 groups=2 type=f32 layout=NN math=strict",
                                  "gemm m=65 n=65 k=65 type=f32 layout=NN math=fp8", "gemm"}) {
      winner.problem = Problem::parse(key);
      winner.measured_at = "9999-01-01T00:00:00Z";
      winner.median_us = 1;
      database.put_winners({&winner, 1});
      Trial trial{.problem = winner.problem, .configuration = winner.configuration};
      trial.measurement.median_us = 1;
      database.add_trials(
          {"class", winner.template_name, winner.space_version, winner.source_hash, {}},
          {.guid = "1", .device_label = "Test GPU"}, {&trial, 1});
    }
    for (const DeviceQuery& device : {DeviceQuery{built_in_kernels(), "class", "", {}},
                                      DeviceQuery{built_in_kernels(), "", "Test GPU", {}}}) {
      for (const std::int64_t size : {64, 66}) {
        const GemmProblem asked{.m = size, .n = size, .k = size};
        const std::optional<Match> match = find_best(&database, device, asked, false);
        REQUIRE(match);
        CHECK(match->winner.problem == tuned);
      }
      CHECK(list_winners(&database, device).size() == 1);
      CHECK(nearest_winners(&database, device, GemmProblem{.m = 66, .n = 66, .k = 66}, 9,
                            [](const Winner&) { return true; })
                .size() == 1);
    }
  }

  TEST_CASE("a winner of an unknown run hides trials that are not clearly faster") {
    const GemmProblem problem{.m = 2, .n = 3000, .k = 4000};
    for (const auto& [us, best] : {std::pair{58.0, "gemm_skinny"}, {50.0, "gemm_simt"}}) {
      TuningDatabase database = TuningDatabase::in_memory();
      Winner winner = timed_winner("gemm_skinny", problem, 60);
      winner.confirmed = true;
      winner.measured_at = "9999-11-21T05:40:44Z";
      database.put_winners({&winner, 1});
      const Winner fast = timed_winner("gemm_simt", problem, us);
      Trial trial{.problem = problem, .configuration = fast.configuration};
      trial.measurement.median_us = us;
      database.add_trials({"class", fast.template_name, fast.space_version, fast.source_hash, {}},
                          {.guid = "a"}, {&trial, 1});
      const auto found = find_best(&database, {built_in_kernels(), "class", "", {}}, problem, true);
      CHECK(found->winner.template_name == best);
    }
  }

  TEST_CASE("of several classes of devices of a name the latest run counts, not the latest time") {
    const GemmProblem problem{.m = 64, .n = 64, .k = 64};
    TuningDatabase database = TuningDatabase::in_memory();
    for (const std::string device_class : {"one", "two"}) {
      Winner winner = timed_winner("gemm_simt", problem, 60);
      winner.device_class = device_class;
      winner.device_label = "GPU";
      winner.measured_at = device_class == "one" ? "9999-01-01T00:00:00Z" : "2026-01-01T00:00:00Z";
      const ResultRow row = winner;
      database.add_results({.guid = device_class}, {&row, 1});
    }
    CHECK(find_best(&database, {built_in_kernels(), "", "GPU", {}}, problem, true)
              ->winner.device_class == "two");
  }

  TEST_CASE("results whose times the device's rates forbid are not seen") {
    const GemmProblem problem{.m = 1000, .n = 1000, .k = 1000};
    TuningDatabase database = TuningDatabase::in_memory();
    database.put_rates("class", {}, {60'000, 4'000});
    const auto best_us = [&] {
      const auto found = find_best(&database, {built_in_kernels(), "class", "", {}}, problem, true);
      return found ? found->winner.median_us : 0;
    };
    Winner winner = timed_winner("gemm_simt", problem, 1e-300);
    winner.environment = {};
    database.put_winners({&winner, 1});
    CHECK(best_us() == 0);
    for (const double us : {40.0, 1.0}) {
      Trial trial{.problem = problem, .configuration = winner.configuration};
      trial.measurement.median_us = us;
      database.add_trials({"class", winner.template_name, winner.space_version, winner.source_hash,
                           winner.environment},
                          {.guid = "a"}, {&trial, 1});
      CHECK(best_us() == 40);
    }
  }

  TEST_CASE("winners that ship answer unless they are left out") {
    const Winner shipped = *shipped_winners({}).front();
    DeviceQuery device{built_in_kernels(), shipped.device_class, "", {}};
    CHECK(find_best(nullptr, device, shipped.problem, true));
    device.use_shipped = false;
    CHECK_FALSE(find_best(nullptr, device, shipped.problem, false));
    CHECK(list_winners(nullptr, device).empty());
  }

  TEST_CASE("gemm() takes the template's default where winners that ship are left out") {
    const TemporaryStorage storage;
    DeviceInfo h200{.label = "NVIDIA H200"};
    h200.compute_major = 9;
    h200.sm_count = 132;
    h200.l2_bytes = 62914560;
    h200.memory_bus_bits = 6016;
    h200.memory_clock_khz = 3201000;
    h200.memory_bytes = std::int64_t{140} << 30;
    h200.sm.threads_per_block = 1024;
    h200.shared_per_block = 48 << 10;
    h200.sm.shared_per_block = 227 << 10;
    const GemmProblem problem{.m = 2048, .n = 2048, .k = 2048};
    const ResultSource results("");
    const Log log({});
    const auto match_with = [&](bool use_shipped, const GemmProblem& asked) {
      const KernelSelector selector(h200, {.portfolios = built_in_portfolios(),
                                           .log = log,
                                           .results = &results,
                                           .use_shipped_winners = use_shipped});
      return selector.choose(asked, Placement::anywhere).best.match;
    };
    CHECK(match_with(true, problem) != MatchKind::predicted);
    CHECK(match_with(false, problem) == MatchKind::predicted);
    // A winner is taken for a problem that is near it, and for no other.
    CHECK(match_with(true, {.m = 2049, .n = 2047, .k = 2100}) == MatchKind::nearest_size);
    CHECK(match_with(true, {.m = 1 << 24, .n = 24, .k = 1 << 20}) == MatchKind::predicted);
  }

  TEST_CASE("results of the CPU device are found by both spellings of its label") {
    const GemmProblem problem{.m = 8, .n = 8, .k = 8};
    for (const char* stored : {"host: Some CPU", "cpu: Some CPU"}) {
      CAPTURE(stored);
      TuningDatabase database = TuningDatabase::in_memory();
      Winner winner = timed_winner("gemm_tiled", problem, 1);
      winner.device_label = stored;
      database.put_winners({&winner, 1});
      for (const char* asked : {"host: Some CPU", "cpu: Some CPU", "CPU: some cpu"}) {
        CAPTURE(asked);
        CHECK(find_best(&database, {built_in_kernels(), "", asked, {}}, problem, true));
      }
      CHECK_FALSE(find_best(&database, {built_in_kernels(), "", "Some CPU", {}}, problem, true));
    }
    CHECK(choose_device("cpu").device.label == choose_device("host").device.label);
  }

  TEST_CASE("what ships is of the templates as they are") {
    for (const Winner* const shipped : shipped_winners({})) {
      const Winner& winner = *shipped;
      CAPTURE(to_string(winner.problem));
      CAPTURE(winner.template_name);
      const KernelTemplate* kernel = built_in_kernels().find(winner.template_name);
      REQUIRE(kernel != nullptr);
      CHECK(winner.space_version == kernel->space_version);
      CHECK(kernel->supports(winner.problem));
      CHECK_NOTHROW(static_cast<void>(kernel->space.validated(winner.configuration)));
    }
  }
}

}  // namespace
}  // namespace autotune::test
