// What strategies are told of a space from the trials of other problems and devices.
#include "tuner/experience.hpp"

#include <doctest/doctest.h>

#include "core/device_info.hpp"
#include "tests/support/correlation.hpp"
#include "tuner/estimate.hpp"
#include "tuner/replay/recorded_space.hpp"

namespace autotune {
namespace {

const std::string kH200 = "sm_90/132sm/l2-62914560/bus-6144/mem-3201000kHz/140GiB/shared-232448";
const std::string kA100 = "sm_80/108sm/l2-41943040/bus-5120/mem-1215000kHz/40GiB/shared-166912";
const KernelTemplate& kTiled = *find_kernel_template("gemm_tiled");

const CandidateSpace& tiled_space() {
  static const CandidateSpace space(kTiled, kTiled.space.enumerate().configurations);
  return space;
}

GemmProblem cube(std::int64_t size) {
  return {.m = size, .n = size, .k = size};
}

// A database in which a problem was tuned: its trials, and a winner that says so. Configurations
// with PREFETCH=1 took ten times as long as estimated, others just as long.
void add_tuned(TuningDatabase& database, const std::string& silicon_class,
               const GemmProblem& problem, std::size_t count = 200) {
  const TrialScope scope{silicon_class, kTiled.name, kTiled.interface_number, "hash", {}};
  const auto& all = tiled_space().configurations;
  const Estimate estimate = estimate_for(kTiled, all, problem, silicon_class);
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = i * 7 % all.size();
    Trial trial{.problem = problem, .template_name = kTiled.name, .configuration = all[index]};
    trial.status = TrialStatus::ok;
    trial.measurement.median_us = estimate(index) * (all[index].at("PREFETCH") == 1 ? 10 : 1);
    trials.push_back(std::move(trial));
  }
  database.add_trials(scope, {.guid = "run"}, trials);
  const Winner winner{.silicon_class = silicon_class,
                      .problem = problem,
                      .template_name = kTiled.name,
                      .interface_number = kTiled.interface_number,
                      .source_hash = "hash",
                      .configuration = trials.front().configuration,
                      .median_us = 1};
  database.put_winners({&winner, 1});
}

// How much slower PREFETCH=1 is said to be, by the estimate of a problem on the H200, than by
// arithmetic.
double said_of_prefetch(const TuningDatabase& database, const GemmProblem& problem) {
  const auto& all = tiled_space().configurations;
  const Estimate alone = estimate_for(kTiled, all, problem, kH200);
  const Estimate experienced =
      experienced_estimate(tiled_space(), problem, kH200, database.winners("", ""), database);
  double sums[] = {0, 0};
  double counts[] = {0, 0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t prefetch = all[i].at("PREFETCH");
    sums[prefetch] += experienced(i) / alone(i);
    ++counts[prefetch];
  }
  return sums[1] / counts[1] / (sums[0] / counts[0]);
}

TEST_SUITE("experience") {
  TEST_CASE("trials of one size bring the estimate of another nearer to its trials") {
    const auto spaces =
        read_recorded_spaces(AUTOTUNE_SOURCE_DIR "/tests/data/h200-gemm_simt.t4.json.zst");
    const RecordedSpace& known = spaces.at(2);
    const RecordedSpace& asked = spaces.at(3);
    REQUIRE(known.problem == cube(2048));
    REQUIRE(asked.problem == cube(3200));
    std::vector<std::size_t> indices;
    std::vector<double> times_us;
    for (std::size_t i = 0; i < known.trials.size(); i += 15) {
      if (!known.trials[i].ok()) continue;
      indices.push_back(i);
      times_us.push_back(known.trials[i].measurement.median_us);
    }
    const Experience experience(known.configurations, indices, times_us, estimate_for(known));
    const Estimate estimate = estimate_for(asked);
    std::vector<double> measured;
    std::vector<double> alone;
    std::vector<double> corrected;
    for (std::size_t i = 0; i < asked.trials.size(); ++i) {
      if (!asked.trials[i].ok()) continue;
      measured.push_back(1 / asked.trials[i].measurement.median_us);
      alone.push_back(1 / estimate(i));
      corrected.push_back(alone.back() / experience.slowness(asked.configurations[i]));
    }
    CHECK(test::correlation(alone, measured) < 0.955);
    CHECK(test::correlation(corrected, measured) > 0.965);
  }

  TEST_CASE("what a parameter was like for a near size is believed, for a far one not") {
    auto database = TuningDatabase::in_memory();
    CHECK(said_of_prefetch(database, cube(1000)) == doctest::Approx(1));
    add_tuned(database, kH200, cube(1000));
    CHECK(said_of_prefetch(database, cube(1200)) > 5);
    CHECK(said_of_prefetch(database, cube(4000)) == doctest::Approx(1));
  }

  TEST_CASE("few trials teach nothing") {
    auto database = TuningDatabase::in_memory();
    add_tuned(database, kH200, cube(1000), 40);
    CHECK(said_of_prefetch(database, cube(1000)) == doctest::Approx(1));
  }

  TEST_CASE("another device's trials serve where this one has none") {
    auto database = TuningDatabase::in_memory();
    add_tuned(database, kA100, cube(1000));
    CHECK(said_of_prefetch(database, cube(1000)) > 5);
  }

  TEST_CASE("devices whose SMs are not known have no estimate") {
    const auto database = TuningDatabase::in_memory();
    CHECK_FALSE(
        experienced_estimate(tiled_space(), cube(64), "host/AMD EPYC/2 cores", {}, database));
  }
}

}  // namespace
}  // namespace autotune
