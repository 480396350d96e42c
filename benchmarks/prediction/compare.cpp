#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "api/kernel_selector.hpp"
#include "api/setup.hpp"
#include "cli/options/tuning_setup.hpp"
#include "core/statistics.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"
#include "pool.hpp"
#include "select/lookup.hpp"
#include "select/portfolio.hpp"
#include "select/predictor.hpp"
#include "shapes.hpp"
#include "tuner/devices/baseline_rounds.hpp"
#include "tuner/run/candidate_runner.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

constexpr const char* kCublas = "cublas";

std::string identity(const ordered_json& line) {
  return fmt::format("{} {} {} {}", line["m"].get<std::int64_t>(), line["n"].get<std::int64_t>(),
                     line["k"].get<std::int64_t>(), line["layout"].get<std::string>());
}

ordered_json line_of(const GemmProblem& problem) {
  return {{"m", problem.m}, {"n", problem.n}, {"k", problem.k}, {"layout", layout_text(problem)}};
}

std::vector<ordered_json> lines_of(const std::string& path) {
  std::vector<ordered_json> lines;
  std::ifstream input(path);
  for (std::string text; std::getline(input, text);) {
    ordered_json line = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_discarded()) lines.push_back(std::move(line));
  }
  return lines;
}

// "gemm_tma RESULTS_M=8,...", as a line of the output names a configuration.
PoolEntry entry_from(const KernelSet& kernels, const std::string& text) {
  const std::size_t space = text.find(' ');
  const KernelTemplate* kernel = kernels.find(text.substr(0, space));
  if (kernel == nullptr) throw Error("no template is called " + text.substr(0, space));
  return {kernel, kernel->space.validated(Configuration::parse(text.substr(space + 1)))};
}

// One role of a comparison: "predicted", "tuned" and so on.
using Roles = std::vector<std::pair<std::string, PoolEntry>>;

class Comparison {
 public:
  Comparison(const ShippedPortfolios& portfolios, const CompareOptions& options)
      : kernels_(portfolios.kernels()),
        options_(options),
        device_(device_for(options.device)),
        setup_(
            isolated_setup(portfolios, {device_}, own_program_path().parent_path() / "autotune")),
        cubins_(open_cubin_store()),
        results_(""),
        log_({}),
        selector_(device_, {.portfolios = portfolios, .log = log_, .results = &results_}),
        runner_(setup_, cubins_),
        baseline_(setup_.measuring.front().make_worker, setup_.measure_timeout) {
    results_.keep_in_memory(TuningDatabase::in_memory());
    setup_.cubins = &cubins_;
    const PredictedDevice device = predicted_device(device_);
    for (const Portfolio& portfolio : portfolios.of(options.math)) {
      for (const PortfolioEntry& entry : portfolio.entries) {
        if (fits_device(*entry.kernel, entry.configuration, device.info)) {
          portfolio_.push_back({entry.kernel, entry.configuration});
        }
      }
    }
  }

  // `earlier` is the shape's line of an earlier run, or null: what was found then is timed again.
  ordered_json run(const GemmProblem& problem, const ordered_json& earlier) {
    ordered_json line = line_of(problem);
    Roles roles;
    const KernelChoice choice = selector_.predict(problem, Placement::aligned);
    roles.emplace_back("predicted", PoolEntry{choice.kernel, choice.best.configuration});
    line["match"] = to_string(choice.best.match);
    line["explanation"] = choice.best.explanation;
    if (const auto nearest = nearest_winner(problem)) roles.emplace_back("nearest", *nearest);
    if (earlier.is_null()) {
      if (const auto best = oracle(problem)) roles.emplace_back("oracle", *best);
      if (const auto tuned = tune_now(problem)) roles.emplace_back("tuned", *tuned);
    } else {
      for (const char* role : {"oracle", "tuned"}) {
        roles.emplace_back(role, entry_from(kernels_, earlier.at("configurations").at(role)));
      }
    }
    for (const auto& [role, entry] : roles) {
      line["configurations"][role] = entry.kernel->name + " " + to_string(entry.configuration);
    }
    line["us"] = interleaved(problem, roles);
    return line;
  }

 private:
  // The fastest of the portfolio by a quick look.
  std::optional<PoolEntry> oracle(const GemmProblem& problem) {
    for (const PoolEntry& entry : portfolio_) {
      if (computes(*entry.kernel, problem)) {
        runner_.prepare(*entry.kernel, entry.configuration, problem);
      }
    }
    std::optional<PoolEntry> best;
    double best_us = 0;
    for (const PoolEntry& entry : portfolio_) {
      if (!computes(*entry.kernel, problem)) continue;
      const double us = time(problem, entry, 3, 1.5 * best_us).value_or(0);
      if (us > 0 && (!best || us < best_us)) {
        best = entry;
        best_us = us;
      }
    }
    return best;
  }

  // What gemm() took before it predicted: the nearest winner that ships.
  [[nodiscard]] std::optional<PoolEntry> nearest_winner(const GemmProblem& problem) const {
    const DeviceQuery query{.kernels = kernels_,
                            .device_class = device_.device_class(),
                            .label = {},
                            .environment = {}};
    const auto fits = [&](const Winner& winner) {
      return fits_device(*kernels_.find(winner.template_name), winner.configuration, device_);
    };
    const auto match = find_best(nullptr, query, problem, /*exact_only=*/false, fits);
    if (!match) return std::nullopt;
    return PoolEntry{kernels_.find(match->winner.template_name), match->winner.configuration};
  }

  // Beginning without any trial.
  std::optional<PoolEntry> tune_now(const GemmProblem& problem) {
    TuningDatabase database = TuningDatabase::in_memory();
    setup_.database = &database;
    TuneRequest request;
    request.problems = {problem};
    request.budget.seconds = options_.seconds_per_shape;
    const TuneReport report = tune(request, setup_, [](const TuneProgress&) {}, {});
    if (!report.failure.empty()) throw EnvironmentError(report.failure);
    const std::optional<Winner>& winner = report.problems.front().winner;
    if (!winner) return std::nullopt;
    return PoolEntry{kernels_.find(winner->template_name), winner->configuration};
  }

  // Microseconds; nullopt for a configuration that does not run.
  std::optional<double> time(const GemmProblem& problem, const PoolEntry& entry, int samples,
                             double stop_above_us) {
    MeasureOptions options{.verify = false};
    options.timing = {.samples = samples, .min_sample_us = 1000, .stop_above_us = stop_above_us};
    const Trial trial = runner_.run(*entry.kernel, entry.configuration, problem, options);
    return trial.ok() ? std::optional(trial.measurement.median_us) : std::nullopt;
  }

  // The median of each role. Equal configurations are timed once a round.
  ordered_json interleaved(const GemmProblem& problem, const Roles& roles) {
    std::vector<PoolEntry> entries;
    for (const auto& [role, entry] : roles) {
      if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
        entries.push_back(entry);
      }
    }
    std::vector<std::vector<double>> samples(entries.size());
    BaselineRounds cublas([&](int algorithm) {
      MeasureOptions options{.verify = false};
      options.timing = {.samples = 1, .min_sample_us = 1000};
      return baseline_.run_baseline(kCublas, algorithm, gemm_operation(), problem, options);
    });
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t place = (i + static_cast<std::size_t>(round)) % entries.size();
        if (const auto us = time(problem, entries[place], 1, 0)) samples[place].push_back(*us);
      }
      cublas.play();
    }
    ordered_json us;
    for (const auto& [role, entry] : roles) {
      const auto place = static_cast<std::size_t>(std::find(entries.begin(), entries.end(), entry) -
                                                  entries.begin());
      if (!samples[place].empty()) us[role] = median(samples[place]);
    }
    if (const auto* best = cublas.best()) us[kCublas] = median(best->samples_us);
    return us;
  }

  const KernelSet& kernels_;
  const CompareOptions& options_;
  DeviceInfo device_;
  TunerSetup setup_;
  CubinStore cubins_;
  ResultSource results_;
  Log log_;
  KernelSelector selector_;
  CandidateRunner runner_;
  TrialRunner baseline_;
  std::vector<PoolEntry> portfolio_;
};

// The rates of a role as shares of the tuned ones.
void print_share(const std::vector<ordered_json>& lines, const std::string& role) {
  double logarithms = 0;
  double least = 0;
  std::string where;
  std::size_t count = 0;
  for (const ordered_json& line : lines) {
    const ordered_json& us = line.at("us");
    if (!us.contains(role) || !us.contains("tuned")) continue;
    const double share = us["tuned"].get<double>() / us[role].get<double>();
    logarithms += std::log(share);
    if (count++ == 0 || share < least) {
      least = share;
      where = identity(line);
    }
  }
  if (count == 0) return;
  fmt::print(
      "{:>10}: geometric mean {:.2f} % of the tuned rate, at least {:.1f} % ({}), {} shapes\n",
      role, 100 * std::exp(logarithms / static_cast<double>(count)), 100 * least, where, count);
}

}  // namespace

void compare(const ShippedPortfolios& portfolios, const CompareOptions& options) {
  std::set<std::string> known;
  for (const ordered_json& line : lines_of(options.output)) known.insert(identity(line));
  std::map<std::string, ordered_json> earlier;
  for (const ordered_json& line : lines_of(options.earlier)) earlier[identity(line)] = line;
  Comparison comparison(portfolios, options);
  const std::vector<GemmProblem> shapes = mixed_shapes(options.shapes, options.seed, options.math);
  std::ofstream output(options.output, std::ios::app);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i % options.parts != options.part) continue;
    const std::string shape = identity(line_of(shapes[i]));
    if (known.contains(shape) || (!earlier.empty() && !earlier.contains(shape))) continue;
    ordered_json line = comparison.run(shapes[i], earlier.empty() ? nullptr : earlier.at(shape));
    line["seed"] = options.seed;
    line["seconds"] = options.seconds_per_shape;
    output << line.dump() << std::endl;
    fmt::print("{:>24} {}\n", to_string(shapes[i]), line["us"].dump());
    std::fflush(stdout);
  }
  const std::vector<ordered_json> lines = lines_of(options.output);
  for (const char* role : {"predicted", "oracle", "nearest", kCublas}) print_share(lines, role);
}

}  // namespace autotune
