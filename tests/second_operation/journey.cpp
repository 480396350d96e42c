#include "tests/second_operation/journey.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cli/output/trial_export.hpp"
#include "cli/program.hpp"
#include "select/choice.hpp"
#include "tests/second_operation/transpose.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

constexpr std::int64_t kConfigurations = 7;

TuneReport tune_one(const Problem& problem, TunerSetup& setup) {
  TuneRequest request;
  request.problems = {problem};
  request.command = "test";
  return tune(request, setup, {}, {});
}

struct Printed {
  int exit_code = -1;
  std::string text;

  [[nodiscard]] bool has(const std::string& part) const {
    return text.find(part) != std::string::npos;
  }
};

int run(const KernelSet& kernels, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "autotune");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return run_command(static_cast<int>(argv.size()), argv.data(), kernels);
}

// Returns what a command prints on standard output in a program that has these kernels.
Printed printed(const KernelSet& kernels, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "out";
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ::dup2(file, STDOUT_FILENO);
  Printed result;
  result.exit_code = run(kernels, arguments);
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(file);
  ::close(before);
  std::ifstream stream(path);
  result.text.assign(std::istreambuf_iterator<char>(stream), {});
  return result;
}

// The commands know the operation and the templates of the set that the program was given, and of
// no other.
void check_commands(const KernelSet& kernels, const std::string& database, const Problem& problem) {
  CHECK(printed(kernels, {"templates"}).text.starts_with("transpose_tiled: transpose, "));
  // Options ask for products of matrices, which no kernel of the set computes.
  CHECK_THROWS_AS(run(kernels, {"query", "--device", "NVIDIA H200", "--sizes", "64"}), UsageError);
  const Printed list = printed(kernels, {"db", "list", "--db", database});
  CHECK(list.exit_code == 0);
  CHECK(list.has(to_string(problem)));
  CHECK_FALSE(list.has(problem.key()));
  CHECK(printed(built_in_kernels(), {"db", "list", "--db", database}).has(problem.key()));
  const std::vector<std::string> report = {"report", "--format", "md", "--db", database};
  CHECK(printed(kernels, report).has(to_string(problem)));
  CHECK(printed(built_in_kernels(), report).exit_code == 4);
  const Printed trials = printed(kernels, {"db", "export", "--format", "csv", "--db", database});
  CHECK(std::ranges::count(trials.text, '\n') == 1 + kConfigurations);
  const std::vector<std::string> prune = {"db", "prune", "--db", database};
  CHECK(printed(kernels, prune).text.starts_with("0 trials, 0 winners removed"));
  CHECK(printed(built_in_kernels(), prune).text.starts_with("0 trials, 0 winners removed"));
}

// Query lists the operation's results in every form.
void check_query(const KernelSet& kernels, const std::string& database, const std::string& device,
                 const Problem& problem) {
  const std::vector<std::string> query = {"query", "--device", device, "--db", database};
  const auto asked = [&](std::vector<std::string> more) {
    more.insert(more.begin(), query.begin(), query.end());
    return printed(kernels, more);
  };
  const Printed table = asked({"--explain"});
  CHECK(table.exit_code == 0);
  CHECK(table.has(to_string(problem) + "  exact "));
  CHECK(table.has(to_string(problem) + ": tuned for this size; from the database"));
  const auto document = nlohmann::json::parse(asked({"--json"}).text);
  CHECK(document.at("known") == 1);
  const auto& entry = document.at("results").at(0);
  CHECK(entry.at("problem") == problem.key());
  CHECK(entry.at("template") == "transpose_tiled");
  CHECK(entry.at("median_us") > 0);
  CHECK(asked({"--csv"}).has("\n" + problem.key() + ","));
  CHECK(nlohmann::json::parse(asked({"--top", "3", "--json"}).text).at("results").size() == 3);
  // Options that choose matrix multiplications choose nothing of it.
  CHECK(asked({"--layout", "NN"}).exit_code == 4);
  std::vector<std::string> stored = query;  // winners of products ship for some devices
  stored.emplace_back("--no-shipped");
  CHECK(printed(built_in_kernels(), stored).exit_code == 4);
}

// The same answers by the function that all commands ask.
void check_choices(const KernelSet& kernels, const TuningDatabase& database,
                   const DeviceQuery& device, const Problem& problem, const Problem& near) {
  const ShippedPortfolios portfolios(kernels);
  ChoiceQuery query{
      .problem = problem, .database = &database, .device = device, .portfolios = portfolios};
  const std::vector<Choice> exact = choices(query);
  REQUIRE(exact.size() == 1);
  CHECK(exact[0].is_measured());
  CHECK(exact[0].kernel == &kernels.templates().front());
  query.problem = near;
  const std::vector<Choice> other = choices(query);
  REQUIRE(other.size() == 1);
  CHECK(other[0].match() == MatchKind::nearest_size);
  CHECK(other[0].problem == near);
  CHECK(other[0].configuration == exact[0].configuration);
  query.only_measured = true;
  CHECK(choices(query).empty());
}

}  // namespace

TunerSetup operation_setup(const DeviceInfo& device, const WorkerFactory& make_worker,
                           TuningDatabase& database, CubinStore& cubins, const KernelSet& kernels) {
  TunerSetup setup{.kernels = kernels};
  setup.device = device;
  setup.make_compile_worker = make_worker;
  setup.measuring.push_back({.info = device, .make_worker = make_worker, .reserve = {}});
  setup.database = &database;
  setup.cubins = &cubins;
  return setup;
}

void check_journey(const DeviceInfo& device, const WorkerFactory& make_worker) {
  const KernelSet kernels = transpose_kernels();
  const TemporaryFolder folder;
  TuningDatabase database = TuningDatabase::open(folder.path() / "results.db");
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
  const DeviceQuery query{.kernels = kernels, .device_class = device.device_class()};
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
  const std::string csv = trials_as_csv(stored, kernels);
  CHECK(csv.starts_with("device,template,rows,columns,type,status,median_us,gflops,detail,"));
  CHECK(csv.find(",transpose_tiled,70,33,f64,ok,") != std::string::npos);

  check_choices(kernels, database, query, problem, transpose_problem(140, 33));
  check_query(kernels, folder.path() / "results.db", device.label, problem);
  check_commands(kernels, folder.path() / "results.db", problem);
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
