// autotune bench: times the best known configurations in turn with cuBLAS, a given configuration or
// the configurations of another database.

#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/kernel_options.hpp"
#include "cli/locked_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/bench_report.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/statistics.hpp"
#include "tuner/devices/baseline_rounds.hpp"
#include "tuner/devices/comparison.hpp"
#include "tuner/run/candidate_runner.hpp"
#include "tuner/run/stored_results.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kMostRounds = 1000;

// The value of --against.
void store_against(BenchOptions& options, const std::string& text) {
  options.against = text;
  if (options.against_cublas()) return;
  const bool has_values = text.find('=') != std::string::npos;
  const std::size_t colon = text.find(':');
  const bool names_template = !has_values || colon != std::string::npos;
  ConfigurationChoice& choice = options.against_choice;
  if (names_template) {
    choice.kernel = options.kernels().find(text.substr(0, colon));
    if (choice.kernel == nullptr) {
      throw UsageError(fmt::format(
          "--against: {} must be cublas, a template ('autotune templates' lists them) or a "
          "configuration, e.g. --against TILE_WIDTH=16",
          in_quotes(text)));
    }
  }
  if (!has_values) return;
  try {
    choice.configuration =
        Configuration::parse(colon == std::string::npos ? text : text.substr(colon + 1));
  } catch (const UsageError& error) {
    throw UsageError(std::string("--against: ") + error.what());
  }
}

void store_rounds(BenchOptions& options, const std::string& text) {
  const auto rounds = parse_whole_number(text, kMostRounds);
  if (!rounds || *rounds < kFewestRounds) {
    throw UsageError(
        fmt::format("--rounds: {} must be a whole number from {} to {}, e.g. --rounds 30",
                    in_quotes(text), kFewestRounds, kMostRounds));
  }
  options.rounds = *rounds;
}

void store_fail_below(BenchOptions& options, const std::string& text) {
  options.fail_below = parse_positive_number(text);
  if (options.fail_below) return;
  throw UsageError(fmt::format("--fail-below: {} must be a number above 0, e.g. --fail-below 0.98",
                               in_quotes(text)));
}

void check_bench(const BenchOptions& options) {
  check_choice(choice_of(options), options.problems());
  check_choice(options.against_choice, options.problems(), "--against");
  if (options.against.empty() == options.against_database.empty()) {
    throw UsageError(options.against.empty()
                         ? have_named_sizes(options.kernels())
                               ? "say what to compare with: --against NAME=VALUE,..."
                               : "say what to compare with, e.g. --against cublas"
                         : "--against and --against-database exclude each other");
  }
}

void check_cublas(const BenchOptions& options, const DeviceInfo& device) {
  if (!options.against_cublas() || !device.is_cpu()) return;
  throw EnvironmentError(
      "--against: cublas needs a GPU; on the CPU device name a configuration, e.g. --against "
      "TILE_WIDTH=16");
}

// Decides what is compared, and times it.
class Bench {
 public:
  Bench(const BenchOptions& options, const DeviceInfo& device, InterruptWatch& interrupts)
      : options_(options),
        device_(device),
        interrupts_(interrupts),
        stop_(interrupts.token()),
        database_(open_database_read_only(options.database)),
        setup_(make_setup(options.portfolios, {device}, 2)),
        cubins_(open_cubin_store()),
        runner_(setup_, cubins_) {
    if (!options.against_database.empty()) {
      other_ = named_database("--against-database", options.against_database);
    }
  }

  // The sizes that were compared before a request to stop.
  std::vector<SizeComparison> run() {
    std::vector<SizeComparison> all;
    for (const Problem& problem : options_.problems()) {
      all.push_back(chosen_sides(problem));
      for (const Side& side : all.back().sides) {
        if (side.chosen.kernel != nullptr) {
          runner_.prepare(*side.chosen.kernel, side.chosen.configuration, side.chosen.problem);
        }
      }
    }
    ProgressLine progress(options_.progress);
    for (std::size_t i = 0; i < all.size(); ++i) {
      interrupts_.begin_step(size_text(options_.kernels(), all[i].problem));
      progress.show({.done = static_cast<std::int64_t>(i),
                     .total = static_cast<std::int64_t>(all.size()),
                     .phase = "bench"});
      if (all[i].is_stored) play(all[i]);
      if (stop_.stop_requested() && !all[i].comparison) {
        all.resize(i);
        break;
      }
    }
    return all;
  }

 private:
  [[nodiscard]] SizeComparison chosen_sides(const Problem& problem) const {
    const DeviceQuery query{options_.kernels(), device_.device_class(), device_.label, std::nullopt,
                            !options_.no_shipped};
    SizeComparison result{.problem = problem};
    const TuningDatabase* const own = database_ ? &*database_ : nullptr;
    result.sides[0].chosen =
        checked(choose_configuration(choice_of(options_), problem, own, query));
    if (options_.against_cublas()) return result;
    if (!other_) {
      result.sides[1].chosen =
          checked(choose_configuration(options_.against_choice, problem, own, query));
      return result;
    }
    const DeviceQuery stored{options_.kernels(), device_.device_class(), device_.label,
                             std::nullopt, false};
    result.is_stored = !known_choices(options_.portfolios, problem, &*other_, stored).empty();
    if (result.is_stored) {
      result.sides[1].chosen =
          checked(choose_configuration({options_.portfolios}, problem, &*other_, stored));
    }
    return result;
  }

  [[nodiscard]] ChosenConfiguration checked(ChosenConfiguration chosen) const {
    check_problem(*chosen.kernel, chosen.problem);
    check_device(*chosen.kernel, chosen.configuration, device_);
    return chosen;
  }

  // Samples both sides in turn; each is the first in every other round.
  void play(SizeComparison& size) {
    std::int64_t round = 0;
    const auto options = [&] {
      return MeasureOptions{.verify = round == 0, .timing = {.samples = 1}};
    };
    BaselineRounds cublas([&](int algorithm) -> std::optional<Trial> {
      if (stop_.stop_requested()) return std::nullopt;
      return runner_.run_baseline(kCublas, algorithm, size.problem, options());
    });
    for (; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (stop_.stop_requested()) return;
        Side& side = size.sides[(static_cast<std::size_t>(round) + i) % 2];
        const bool goes_on =
            side.chosen.kernel == nullptr ? sample(cublas, side) : sample(side, options());
        if (!goes_on) return;
      }
    }
    for (Side& side : size.sides) side.trial.measurement.median_us = median(side.samples_us);
    size.comparison = compare_samples(size.sides[0].samples_us, size.sides[1].samples_us);
    if (!options_.against_cublas()) return;
    size.baseline = cublas.time(kCublas, size.sides[0].samples_us);
    size.baseline_problem = cublas.problem(kCublas);
  }

  // False if it failed.
  bool sample(Side& side, const MeasureOptions& options) {
    const Trial trial =
        runner_.run(*side.chosen.kernel, side.chosen.configuration, side.chosen.problem, options);
    if (trial.ok()) side.samples_us.push_back(trial.measurement.median_us);
    if (options.verify || !trial.ok()) side.trial = trial;
    return trial.ok();
  }

  // Lets the best algorithm so far stand for cuBLAS. False if it failed or there was a request to
  // stop.
  static bool sample(BaselineRounds& cublas, Side& side) {
    if (!cublas.play()) return false;
    if (const Trial* failed = cublas.failure()) {
      side.trial = *failed;
      return false;
    }
    const BaselineRounds::Algorithm& best = *cublas.best();
    side.algorithm = best.number;
    side.trial = best.trial;
    side.samples_us = best.samples_us;
    return true;
  }

  const BenchOptions& options_;
  const DeviceInfo& device_;
  InterruptWatch& interrupts_;
  std::stop_token stop_;
  std::optional<TuningDatabase> database_;
  std::optional<TuningDatabase> other_;
  TunerSetup setup_;
  CubinStore cubins_;
  CandidateRunner runner_;
};

// Keeps the library's times beside the winners of the database that were compared with it.
void keep_baselines(const std::vector<SizeComparison>& sizes, const BenchOptions& options,
                    const DeviceInfo& device) try {
  const auto stored = open_database_read_only(options.database);
  if (!stored) return;
  std::optional<TuningDatabase> database;
  for (const SizeComparison& size : sizes) {
    const ChosenConfiguration& own = size.sides[0].chosen;
    if (!size.baseline || own.problem != size.problem) continue;
    BaselineTime baseline = *size.baseline;
    baseline.measured_at = utc_now();
    if (!database) database = TuningDatabase::open(stored->path());
    Winner winner;
    winner.device_class = device.device_class();
    winner.problem = size.problem;
    winner.template_name = own.kernel->name;
    winner.configuration = own.configuration;
    database->put_baseline(winner, baseline);
  }
} catch (const StorageError& error) {
  say(fmt::format("warning: the comparison is not stored: {}", error.what()));
}

int run_bench(const BenchOptions& options) {
  check_bench(options);
  InterruptWatch interrupts;
  const DeviceInfo device = device_for(options.device);
  check_cublas(options, device);
  check_memory(options.kernels(), options.problems(), device);
  const auto lock = lock_device(device, interrupts.token());
  const std::vector<SizeComparison> sizes = Bench(options, device, interrupts).run();
  print_bench_notes(sizes, options);
  if (options.json) {
    auto document = results_document("bench", &device, device.label);
    for (const SizeComparison& size : sizes) {
      document["results"].push_back(comparison_entry(options.kernels(), size));
    }
    document["measured"] = sizes.size();
    document["interrupted"] = sizes.size() < options.sizes.size();
    print_document(document);
  } else {
    fmt::print(
        "{}\n{}speed-up: the other kernel's time divided by this one's, median of {} rounds in "
        "turn\n",
        describe(device), comparison_table(sizes, options).text(output_columns()), options.rounds);
  }
  keep_baselines(sizes, options, device);
  return bench_exit_code(sizes, options);
}

}  // namespace

void add_bench_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "bench", "Compare the best known configurations with cuBLAS or others", run_bench);
  BenchOptions& all = options;
  add_options(command, options,
              {"--sizes", "--layout", "--type", "--out-type", "--batch", "--math", "--device",
               "--template", "--config", "--db", "--no-shipped", "--progress", "--wide", "--json"});
  require_sizes(command, options);
  add_text_option(command, "--against", "OTHER",
                  "cublas, a template's best, or a configuration: [TEMPLATE:]NAME=VALUE,...",
                  [&all](const std::string& text) { store_against(all, text); });
  add_text_option(command, "--against-database", "FILE",
                  "The best known configurations of another database",
                  [&all](const std::string& text) { all.against_database = text; });
  add_text_option(command, "--rounds", "N", "Samples of each, taken in turn (default 15)",
                  [&all](const std::string& text) { store_rounds(all, text); });
  add_text_option(command, "--fail-below", "SPEEDUP",
                  "End with exit code 7 where a speed-up is below this, e.g. 0.98",
                  [&all](const std::string& text) { store_fail_below(all, text); });
  command.footer(
      "autotune bench --sizes 1024,2048 --against cublas\n"
      "autotune bench --sizes 2048 --against TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=4\n"
      "autotune bench --sizes 2048 --against-database old.db");
}

}  // namespace autotune
