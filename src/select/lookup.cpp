#include "select/lookup.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/hash.hpp"
#include "db/shipped_winners.hpp"
#include "kernel_templates/possible_time.hpp"

namespace autotune {
namespace {

struct Candidate {
  Winner winner;
  bool shipped = false;
};

// Reads what is known of one device's problems.
class KnownResults {
 public:
  using Wanted = std::function<bool(const Winner&)>;

  KnownResults(const ResultReader* database, const DeviceQuery& device)
      : database_(database), device_(device) {
    // A device that is here counts by its class and not by its name.
    filter_.device_class = device.device_class;
    if (filter_.device_class.empty()) filter_.device_label = device.label;
    filter_.max_error = device.max_error;
    filter_.is_possible = possible_time(device.kernels);
  }

  // Visits the problems of an operation that results are stored or shipped for, some of them twice.
  void visit_problems(const std::string& operation,
                      const std::function<void(const Problem&)>& visit) const {
    ResultFilter filter = filter_;
    filter.operation = operation;
    if (database_ != nullptr) database_->visit_problems(filter, visit);
    if (!device_.use_shipped) return;
    for (const Problem& problem : shipped_problems(filter)) visit(problem);
  }

  // For a problem (an empty one stands for all) the fastest wanted result of each device class and
  // problem: the user's own, shipped ones where there is none.
  [[nodiscard]] std::vector<Candidate> best(const Problem& problem, const Wanted& wanted) const {
    ResultFilter filter = filter_;
    filter.problem = problem;
    std::map<std::pair<std::string, Problem>, Candidate> best;
    const auto consider = [&](Winner winner, bool is_shipped) {
      const auto [place, is_new] = best.try_emplace({winner.device_class, winner.problem});
      Candidate& known = place->second;
      if (is_new ||
          (known.shipped == is_shipped && comparable_us(winner) < comparable_us(known.winner))) {
        known = {std::move(winner), is_shipped};
      }
    };
    for (Winner& winner : own(filter, wanted)) consider(std::move(winner), false);
    // One problem of one device class has one answer: the user's own leaves the others unread.
    const bool answered =
        !best.empty() && !filter.device_class.empty() && filter.problem != Problem();
    for (const Winner* winner : answered ? std::vector<const Winner*>() : shipped(filter)) {
      Winner copy = *winner;
      if (is_usable(copy) && wanted(copy)) consider(std::move(copy), true);
    }
    std::vector<Candidate> result;
    for (auto& [key, candidate] : best) result.push_back(std::move(candidate));
    return result;
  }

 private:
  [[nodiscard]] const KernelSet& kernels() const { return device_.kernels; }
  // Returns whether the templates can still make this winner's kernel, and it is accurate enough.
  [[nodiscard]] bool is_usable(Winner& winner) const {
    if (device_.max_error && !winner.verification.keeps_to(*device_.max_error)) return false;
    const KernelTemplate* kernel = kernels().find(winner.template_name);
    if (kernel == nullptr || kernel->space_version != winner.space_version ||
        kernels().operation_of(winner.problem) != kernel->operation) {
      return false;
    }
    try {
      winner.configuration = kernel->space.validated(winner.configuration);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  }

  // The wanted winners, and the best trials of searches that never came to their finals. A trial
  // whose run was stored no later than that of a wanted winner of its problem has lost to it, or
  // was no finalist. Where the winner's run is unknown, a trial must be clearly faster. The clocks
  // of the machines that measured are not asked, because they may be wrong.
  [[nodiscard]] std::vector<Winner> own(const ResultFilter& filter, const Wanted& wanted) const {
    if (database_ == nullptr) return {};
    std::vector<Winner> results;
    std::set<std::tuple<std::string, Problem, std::string>> finished;
    struct Decided {
      std::int64_t run_row = 0;
      double fastest_us = std::numeric_limits<double>::infinity();
    };
    std::map<std::pair<std::string, Problem>, Decided> decided;
    for (Winner& winner : database_->winners(filter)) {
      if (!is_usable(winner) || !wanted(winner)) continue;
      finished.emplace(winner.device_class, winner.problem, winner.template_name);
      Decided& problem = decided[{winner.device_class, winner.problem}];
      problem.run_row = std::max(problem.run_row, winner.run_row);
      problem.fastest_us = std::min(problem.fastest_us, winner.median_us);
      results.push_back(std::move(winner));
    }
    for (Winner& trial : database_->best_trials(filter)) {
      if (!is_usable(trial) || !wanted(trial)) continue;
      if (finished.contains({trial.device_class, trial.problem, trial.template_name})) continue;
      const Decided& problem = decided[{trial.device_class, trial.problem}];
      // A trial that is hardly faster may have lost the finals, whichever run made it.
      const bool is_newer = problem.run_row == 0 || trial.run_row > problem.run_row;
      const bool counts = is_newer && kFinalistMargin * trial.median_us < problem.fastest_us;
      if (counts) results.push_back(std::move(trial));
    }
    return results;
  }

  [[nodiscard]] std::vector<const Winner*> shipped(const ResultFilter& filter) const {
    return device_.use_shipped ? shipped_winners(filter) : std::vector<const Winner*>();
  }

  const ResultReader* database_;
  const DeviceQuery& device_;
  ResultFilter filter_;
};

// How far away a tuned problem may be whose configuration is taken, in octaves. By the cost model
// of an H200 for 4096^3, winners from up to 7 octaves away are as good as the template's own
// default, and those from further away up to 1.5 times as slow.
constexpr double kFarthest = 7;

// The keys of other problems with the same traits, by how far they are away, without those that
// the operation does not have. Thousands of problems would take longer to allocate than to find.
std::vector<std::pair<double, std::string>> nearest_problems(const KnownResults& known,
                                                             const Problem& problem,
                                                             const Operation& operation) {
  std::vector<std::pair<double, std::string>> result;
  known.visit_problems(problem.operation(), [&](const Problem& other) {
    if (other != problem && same_traits(other, problem) && operation.has(other)) {
      result.emplace_back(operation.distance(problem, other), other.key());
    }
  });
  std::ranges::sort(result);
  return result;
}

// A label may stand for several device classes.
bool is_better(const Candidate& a, const Candidate& b) {
  return recency(a.winner, a.shipped) > recency(b.winner, b.shipped);
}

// Names the parts of the environment that have changed since a winner was measured: "older driver,
// template source"; empty when nothing has.
std::string changes_since(const Winner& winner, const DeviceQuery& device) {
  std::vector<std::string> changes;
  const KernelTemplate* kernel = device.kernels.get().find(winner.template_name);
  if (content_hash(kernel->source) != winner.source_hash) changes.emplace_back("template source");
  if (winner.environment.measuring_protocol != kMeasuringProtocol) {
    changes.emplace_back("measuring protocol");
  }
  if (device.environment && device.environment->driver != winner.environment.driver) {
    changes.emplace_back("driver");
  }
  if (device.environment && !device.environment->nvrtc_build.empty() &&
      device.environment->nvrtc_build != winner.environment.nvrtc_build) {
    changes.emplace_back("NVRTC");
  }
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "older " : ", ") + change;
  return text;
}

Match match_of(Candidate candidate, const DeviceQuery& device, const Problem& problem) {
  Match match{.winner = std::move(candidate.winner), .shipped = candidate.shipped};
  const std::string age = changes_since(match.winner, device);
  match.kind = match.winner.problem != problem ? MatchKind::nearest_size
               : age.empty()                   ? MatchKind::exact
                                               : MatchKind::exact_stale;
  const Operation& operation = device.kernels.get().operation_for(problem);
  match.explanation =
      match.winner.problem == problem
          ? "tuned for this size"
          : fmt::format("tuned for {}, the nearest size", operation.text(match.winner.problem));
  if (!age.empty()) match.explanation += ", measured with an " + age;
  if (!match.winner.confirmed) match.explanation += ", not confirmed by finals";
  match.explanation += match.shipped ? "; shipped with the program" : "; from the database";
  return match;
}

}  // namespace

Recency recency(const Winner& winner, bool shipped) {
  return {!shipped, winner.run_row, shipped ? winner.measured_at : std::string()};
}

std::optional<Match> find_best(const ResultReader* database, const DeviceQuery& device,
                               const Problem& problem, bool exact_only,
                               const std::function<bool(const Winner&)>& serves) {
  const Operation* const operation = device.kernels.get().operation_of(problem);
  if (operation == nullptr) return std::nullopt;
  const KnownResults known(database, device);
  // Asked of each winner, not of the fastest for its problem: that one may serve no other.
  const auto wanted = [&](const Winner& winner) {
    return device.kernels.get().find(winner.template_name)->supports(problem) &&
           (!serves || serves(winner));
  };
  std::optional<Candidate> best;
  const auto consider = [&](const Problem& candidate_problem) {
    for (Candidate& candidate : known.best(candidate_problem, wanted)) {
      if (!best || is_better(candidate, *best)) best = std::move(candidate);
    }
  };
  consider(problem);
  if (!best && !exact_only) {
    double best_distance = 0;
    for (const auto& [distance, other] : nearest_problems(known, problem, *operation)) {
      if (distance > (best ? best_distance : kFarthest)) break;
      consider(Problem::parse(other));
      best_distance = distance;
    }
  }
  if (!best) return std::nullopt;
  return match_of(std::move(*best), device, problem);
}

std::vector<Winner> nearest_winners(const ResultReader* database, const DeviceQuery& device,
                                    const Problem& problem, std::size_t count,
                                    const std::function<bool(const Winner&)>& serves) {
  std::vector<Winner> result;
  const Operation* const operation = device.kernels.get().operation_of(problem);
  if (operation == nullptr) return result;
  const KnownResults known(database, device);
  const auto wanted = [&](const Winner& winner) {
    return device.kernels.get().find(winner.template_name)->supports(problem) && serves(winner);
  };
  std::string last;
  for (const auto& [distance, other] : nearest_problems(known, problem, *operation)) {
    if (result.size() >= count) break;
    if (other == last) continue;  // stored and shipped
    last = other;
    for (Candidate& candidate : known.best(Problem::parse(other), wanted)) {
      result.push_back(std::move(candidate.winner));
    }
  }
  return result;
}

std::vector<Match> list_winners(const ResultReader* database, const DeviceQuery& device) {
  std::vector<Candidate> all =
      KnownResults(database, device).best(Problem(), [](const Winner&) { return true; });
  std::ranges::stable_partition(all, [](const Candidate& candidate) { return !candidate.shipped; });
  std::vector<Match> matches;
  for (Candidate& candidate : all) {
    const Problem problem = candidate.winner.problem;
    matches.push_back(match_of(std::move(candidate), device, problem));
  }
  return matches;
}

}  // namespace autotune
