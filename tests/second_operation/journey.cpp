#include "tests/second_operation/journey.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/output/trial_export.hpp"
#include "select/lookup.hpp"
#include "tests/second_operation/transpose.hpp"

namespace autotune::test {
namespace {

constexpr std::int64_t kConfigurations = 7;

TuneReport tune_one(const Problem& problem, TunerSetup& setup) {
  TuneRequest request;
  request.problems = {problem};
  request.command = "test";
  return tune(request, setup, {}, {});
}

}  // namespace

TunerSetup operation_setup(const DeviceInfo& device, const WorkerFactory& make_worker,
                           TuningDatabase& database, CubinStore& cubins, const KernelSet& kernels) {
  TunerSetup setup;
  setup.device = device;
  setup.make_compile_worker = make_worker;
  setup.measuring.push_back({.info = device, .make_worker = make_worker, .reserve = {}});
  setup.database = &database;
  setup.cubins = &cubins;
  setup.kernels = &kernels;
  return setup;
}

void check_journey(const DeviceInfo& device, const WorkerFactory& make_worker) {
  const KernelSet kernels = transpose_kernels();
  TuningDatabase database = TuningDatabase::in_memory();
  CubinStore cubins = CubinStore::disabled();
  TunerSetup setup = operation_setup(device, make_worker, database, cubins, kernels);

  const Problem problem = transpose_problem(70, 33);
  const TuneReport report = tune_one(problem, setup);
  CHECK(report.measured == kConfigurations);
  CHECK(report.statuses == std::map<TrialStatus, std::int64_t>{{TrialStatus::ok, kConfigurations}});
  REQUIRE(report.problems.size() == 1);
  REQUIRE(report.problems[0].winner);
  const Winner& winner = *report.problems[0].winner;
  CHECK(winner.problem == problem);
  CHECK(winner.confirmed);
  CHECK(winner.median_us > 0);
  CHECK(winner.verification.integers_exact);
  CHECK(winner.verification.max_error_ratio == 0);

  // It is known the next time.
  CHECK(tune_one(problem, setup).measured == 0);

  // Looked up, exactly and from another size.
  DeviceQuery query{.device_class = device.device_class()};
  query.kernels = &kernels;
  const std::optional<Match> exact = find_best(&database, query, problem, true);
  REQUIRE(exact);
  CHECK(exact->winner.configuration == winner.configuration);
  CHECK_FALSE(find_best(&database, query, transpose_problem(70, 34), true));
  const std::optional<Match> near = find_best(&database, query, transpose_problem(140, 33), false);
  REQUIRE(near);
  CHECK(near->kind == MatchKind::nearest_size);
  CHECK(near->explanation.find(", the nearest size") != std::string::npos);
  CHECK(list_winners(&database, query).size() == 1);

  // Exported.
  const std::vector<StoredTrial> stored = database.all_trials({.operation = "transpose"});
  REQUIRE(stored.size() == kConfigurations);
  const auto exported = nlohmann::json::parse(trials_as_json(stored, true));
  CHECK(exported.at("trials").at(0).at("problem") == problem.key());
  const auto t4 = nlohmann::json::parse(trials_as_t4(stored, true));
  CHECK(t4.at("results").size() == kConfigurations);
  const std::string csv = trials_as_csv(stored);
  CHECK(csv.starts_with("device,template,rows,columns,type,status,median_us,gflops,detail,"));
  CHECK(csv.find(",transpose_tiled,70,33,f64,ok,") != std::string::npos);
}

void check_faults(const DeviceInfo& device, const WorkerFactory& make_worker) {
  const auto status_with = [&](const std::string& fault) {
    const KernelSet kernels = transpose_kernels(fault);
    TuningDatabase database = TuningDatabase::in_memory();
    CubinStore cubins = CubinStore::disabled();
    TunerSetup setup = operation_setup(device, make_worker, database, cubins, kernels);
    const TuneReport report = tune_one(transpose_problem(65, 33), setup);
    CHECK_FALSE(report.problems.at(0).winner);
    REQUIRE(report.statuses.size() == 1);
    return report.statuses.begin()->first;
  };
  CHECK(status_with("if (row == 64 && column == 32) return;") == TrialStatus::wrong_result);
  CHECK(status_with("tile[threadIdx.x][threadIdx.y] += 1e-15;") == TrialStatus::wrong_result);
  CHECK(status_with("out[rows * columns] = 0;") == TrialStatus::out_of_bounds);
  CHECK(status_with("out[-1] = 0;") == TrialStatus::out_of_bounds);
  CHECK(status_with("this is not C++") == TrialStatus::compile_failed);
}

}  // namespace autotune::test
