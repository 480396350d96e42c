#include "cli/output/tune_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.hpp"
#include "cli/kernel_options.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

double device_busy_s(const TuneReport& report) {
  double sum = 0;
  for (const DeviceUse& use : report.devices) sum += use.busy_s;
  return sum;
}

// Prints how busy devices and compile workers were during the search, which the busier limited.
void print_load(const TuneReport& report, const TunerSetup& setup) {
  const auto count = static_cast<double>(report.devices.size());
  const double measuring = device_busy_s(report) / (report.search_s * count);
  const int workers = std::max(1, report.compile_workers);
  const double compiling = report.compile_busy_s / (report.search_s * workers);
  std::string devices = setup.device.is_cpu() ? "CPU device" : "GPU";
  if (count > 1) devices = fmt::format("{} GPUs", count);
  std::string each;
  for (const DeviceUse& use : report.devices) {
    each += fmt::format("{}{:.0f}", each.empty() ? "" : ", ", 100 * use.busy_s / report.search_s);
  }
  fmt::print(" (searching {:.1f} s: {} busy {} %, {} busy {:.0f} %: {} was the limit)",
             report.search_s, devices, each, counted(workers, "compile worker"), 100 * compiling,
             measuring > compiling ? "measuring" : "compiling");
}

// The share of the device's limit that a kernel of one's own reaches: the least time for its
// operations and bytes over its time.
double limit_share(const Work& work, double time_us, const DeviceRates& rates) {
  return std::max(work.operations / rates.fma_gflops, work.bytes / rates.copy_gbps) * 1e-3 /
         time_us;
}

// Cells with the rates of a winner: operations, and what these are of the device's.
std::vector<std::string> rate_cells(const TuneReport& report, const KernelSet& kernels,
                                    const Winner& winner, const RateColumn& rates) {
  const double rate = rate_of(kernels, winner.problem, winner.median_us);
  const auto share = [](double value) { return fmt::format("{:.1f}%", 100 * value); };
  const Operation* const operation = kernels.operation_of(winner.problem);
  if (operation == nullptr || !operation->named_sizes) {
    return {rates.text(rate), report.rates ? share(rate / report.rates->fma_gflops) : "-"};
  }
  const Work work = operation->work(winner.problem);
  return {rates.text(rate), fmt::format("{:.0f}", work.bytes / winner.median_us * 1e-3),
          report.rates ? share(limit_share(work, winner.median_us, *report.rates)) : "-"};
}

// The status in JSON of a problem without a winner.
const char* status_of(const ProblemResult& result) {
  if (!result.too_large.empty()) return "too_large";
  if (result.valid_configurations == 0) return "not_supported";
  if (result.least_error) return "none_accurate";
  return result.tried() == 0 ? "not_tried" : "none_correct";
}

}  // namespace

nlohmann::ordered_json tune_document(const TuneReport& report, const DeviceInfo& device,
                                     const KernelSet& kernels) {
  nlohmann::ordered_json document = results_document("tune", &device, device.label);
  for (const ProblemResult& result : report.problems) {
    auto entry = result.winner ? result_entry(kernels, *result.winner, "exact")
                               : empty_entry(result.problem, status_of(result));
    entry["tried"] = result.tried();
    entry["valid_configurations"] = result.valid_configurations;
    if (result.least_error) entry["least_error"] = *result.least_error;
    entry["reached_share"] = nullptr;
    if (result.reached_share > 0) entry["reached_share"] = result.reached_share;
    if (result.baseline) add_baseline(entry, *result.baseline);
    if (report.rates && result.winner) {
      entry["fma_fraction"] =
          rate_of(kernels, result.problem, result.winner->median_us) / report.rates->fma_gflops;
      const Operation& operation = *kernels.operation_of(result.problem);
      if (operation.named_sizes) {
        const Work work = operation.work(result.problem);
        entry["gbps"] = work.bytes / result.winner->median_us * 1e-3;
        entry["limit_fraction"] = limit_share(work, result.winner->median_us, *report.rates);
      }
    }
    document["results"].push_back(std::move(entry));
  }
  if (report.rates) {
    document["rates"] = {{"fma_gflops", report.rates->fma_gflops},
                         {"copy_gbps", report.rates->copy_gbps}};
  }
  document["measured"] = report.measured;
  document["known"] = report.known;
  document["interrupted"] = report.interrupted || !report.failure.empty();
  document["compiled"] = report.compiled;
  document["equal_kernels"] = report.duplicate_kernels;
  document["wall_s"] = report.wall_s;
  document["search_s"] = report.search_s;
  document["device_busy_s"] = device_busy_s(report);
  document["compile_busy_s"] = report.compile_busy_s;
  document["devices"] = nlohmann::ordered_json::array();
  for (const DeviceUse& use : report.devices) {
    nlohmann::ordered_json entry = {{"ordinal", nullptr}, {"uuid", nullptr}};
    if (!use.device.is_cpu()) entry = {{"ordinal", use.device.ordinal}, {"uuid", use.device.uuid}};
    entry["busy_s"] = use.busy_s;
    entry["failure"] = use.failure;
    document["devices"].push_back(std::move(entry));
  }
  return document;
}

Table result_table(const TuneReport& report, const KernelSet& kernels, bool wide) {
  const bool compared = std::ranges::any_of(
      report.problems, [](const ProblemResult& r) { return r.baseline.has_value(); });
  const bool with_math = std::ranges::any_of(report.problems, [](const ProblemResult& r) {
    return r.winner && r.winner->problem != r.problem;
  });
  RateColumn rates;
  TimeColumn times;
  for (const ProblemResult& result : report.problems) {
    if (!result.winner) continue;
    rates.add(rate_of(kernels, result.problem, result.winner->median_us));
    times.add(result.winner->median_us);
    if (result.baseline) times.add(result.baseline->median_us);
  }
  const bool is_own = kernels.templates().front().operation->named_sizes.has_value();
  std::vector<std::string> header = {"size", times.title(), rates.title()};
  if (is_own) header.emplace_back("GB/s");
  header.emplace_back(is_own ? "of limit" : "of FMA rate");
  if (compared) header.insert(header.end(), {times.title("cuBLAS"), "ratio"});
  header.insert(header.end(), {"template", "configuration"});
  Table table(header);
  for (const ProblemResult& result : report.problems) {
    if (!result.winner) {
      std::vector<std::string> row(header.size() - 2, "-");
      row.front() = size_text(kernels, result.problem);
      table.add(std::move(row));
      continue;
    }
    const Winner& winner = *result.winner;
    std::vector<std::string> row = {size_text(kernels, winner.problem, with_math),
                                    times.text(winner.median_us)};
    for (std::string& cell : rate_cells(report, kernels, winner, rates)) {
      row.push_back(std::move(cell));
    }
    if (compared) {
      row.push_back(result.baseline ? times.text(result.baseline->median_us) : "-");
      row.push_back(result.baseline ? fmt::format("{:.3f}", result.baseline->speedup) : "-");
    }
    row.push_back(winner.template_name);
    row.push_back(configuration_text(kernels.find(winner.template_name), winner.configuration,
                                     result.problem, wide));
    table.add(std::move(row));
  }
  return table;
}

namespace {

constexpr double kLeastBound = 1;  // in %: from run to run, a kernel's times differ by nearly that

bool is_whole(const ProblemResult& result) {
  return result.tried() >= result.valid_configurations;
}

// Returns whether something can be said about how near the best of the space the search has come.
bool has_estimate(const ProblemResult& result) {
  return is_whole(result) || result.reached_share > 0;
}

// Says for several problems at once that nothing can be said of them.
std::string no_estimate_line(const std::vector<const ProblemResult*>& results) {
  const auto tried = [](const ProblemResult* result) { return result->tried(); };
  const auto [least, most] = std::ranges::minmax(results, {}, tried);
  return fmt::format(
      "{} sizes: no estimate of how near these are to the best of their spaces ({} to {} "
      "configurations tried)\n",
      results.size(), least->tried(), most->tried());
}

// Says how near the best of the space the search has come.
std::string reached_text(const ProblemResult& result, const std::optional<double>& until) {
  std::string how_near = "no estimate of how near this is to the best of this space";
  if (is_whole(result)) {
    how_near = "the best of this space";
  } else if (result.reached_share > 0) {
    how_near =
        fmt::format("within {} % of the best of this space, as in most recorded spaces",
                    std::max(kLeastBound, std::ceil(1000 * (1 - result.reached_share)) / 10));
  }
  if (until && result.reached_share < *until) {
    how_near += fmt::format("; --until {}% was not reached", 100 * *until);
  }
  return fmt::format("{} ({} of {} configurations tried)", how_near, result.tried(),
                     result.valid_configurations);
}

// The line of a compiler's log that says what is wrong, or the first one of another detail.
std::string first_line_of(const std::string& detail) {
  std::istringstream lines(detail);
  std::string first, line;
  while (std::getline(lines, line)) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return line;
  }
  return first;
}

// The counts of the run as a whole.
void print_counts(const TuneReport& report, const TunerSetup& setup) {
  fmt::print("\n{} measured, {} known, {:.1f} s", report.measured, report.known, report.wall_s);
  if (report.search_s > 0) print_load(report, setup);
  fmt::print("\n");
  const std::int64_t compiled = report.compiled + report.cubins_reused;
  if (report.search_s > 0 && report.measured + report.known + compiled == 0) {
    fmt::print(
        "no kernel was compiled in {:.1f} s of search: the budget is too short, or the compiler "
        "hangs\n",
        report.search_s);
  }
  if (report.duplicate_kernels > 0) {
    fmt::print("{} of these by the time of a configuration with the same machine code\n",
               report.duplicate_kernels);
  }
  for (const auto& [status, count] : report.statuses) {
    if (status == TrialStatus::ok) continue;
    fmt::print("{} {} ({})\n", count, in_words(status), to_string(status));
    // The text of a user's own kernel is the user's to mend.
    const auto first = report.first_faults.find(status);
    if (have_named_sizes(setup.kernels) && first != report.first_faults.end() &&
        !first->second.detail.empty()) {
      fmt::print("  the first, {}: {}\n", to_string(first->second.configuration),
                 printable(first_line_of(first->second.detail)));
    }
  }
}

// Returns why a problem has no winner, or only an unconfirmed or tied one; else an empty text.
std::string reservation(const ProblemResult& result) {
  if (!result.winner) return why_no_winner(result);
  if (!result.winner->confirmed) return "unconfirmed, from the search alone";
  if (result.winner->ties.empty()) return "";
  return "statistically tied with " + counted(result.winner->ties.size(), "other");
}

// The lines about one problem. The estimate of how near the search has come may be said elsewhere.
void print_problem(const KernelSet& kernels, const ProblemResult& result,
                   const TuneRequest& request, bool with_estimate) {
  const std::string size = size_text(kernels, result.problem);
  const auto print = [&](const std::string& what) {
    if (!what.empty()) fmt::print("{}: {}\n", size, what);
  };
  print(reservation(result));
  if (result.winner && (result.measured > 0 || request.until) && with_estimate) {
    print(reached_text(result, request.until));
  }
  if (result.measured > 0 && !result.began_with.empty()) {
    print("the search began with winners of " +
          printable(fmt::format("{}", fmt::join(result.began_with, ", "))));
  }
  if (result.winner && !result.winner->note.empty()) {
    print("verified and timed on " + result.winner->note);
  }
}

}  // namespace

void print_summary(const TuneReport& report, const TuneRequest& request, const TunerSetup& setup) {
  print_counts(report, setup);
  constexpr std::size_t kManySizes = 4;
  std::vector<const ProblemResult*> unknown;
  for (const ProblemResult& result : report.problems) {
    if (result.winner && result.measured > 0 && !has_estimate(result)) unknown.push_back(&result);
  }
  const bool in_one_line = unknown.size() >= kManySizes && !request.until;
  if (in_one_line) fmt::print("{}", no_estimate_line(unknown));
  for (const ProblemResult& result : report.problems) {
    if (!result.too_large.empty()) continue;  // print_notes() says it
    print_problem(setup.kernels, result, request, has_estimate(result) || !in_one_line);
  }
}

void print_notes(const TuneReport& report, const KernelSet& kernels) {
  if (!report.note.empty()) say(printable(report.note));
  if (!report.storage_problem.empty()) {
    say(fmt::format("warning: {}", printable(report.storage_problem)));
  }
  constexpr double kSlow_s = 2;
  if (report.storing_s > kSlow_s) {
    fmt::print(stderr,
               "autotune: warning: storing the results took {:.1f} s: the disk of the database is "
               "slow, or another process had it locked\n",
               report.storing_s);
  }
  for (const ProblemResult& result : report.problems) {
    if (!result.too_large.empty()) say(result.too_large);
    if (!result.baseline_problem.empty()) {
      say(fmt::format("warning: --compare: {}: {}", size_text(kernels, result.problem),
                      result.baseline_problem));
    }
  }
  if (report.interrupted) {
    say("interrupted: these are the results so far");
  }
  if (!report.failure.empty()) {
    say(fmt::format("{}; these are the results so far", printable(report.failure)));
  }
}

int exit_code_for(const TuneReport& report, bool stored) {
  if (report.interrupted) return exit_code::kInterrupted;
  if (!report.failure.empty()) return exit_code::kEnvironment;
  for (const ProblemResult& result : report.problems) {
    if (result.winner) continue;
    return result.too_large.empty() ? exit_code::kNoneCorrect : exit_code::kEnvironment;
  }
  return stored ? exit_code::kDone : exit_code::kNotStored;
}

}  // namespace autotune
