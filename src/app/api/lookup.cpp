#include "api/lookup.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "core/hash.hpp"
#include "core/problem_distance.hpp"
#include "db/shipped_winners.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {
namespace {

struct Candidate {
  Winner winner;
  bool shipped = false;
};

// Whether the templates that are here can still make this winner's kernel.
bool usable(Winner& winner) {
  const KernelTemplate* kernel = find_kernel_template(winner.template_name);
  if (kernel == nullptr || kernel->space_version != winner.space_version) return false;
  try {
    winner.configuration = kernel->space.validated(winner.configuration);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// What the user's own database says: winners, and for templates whose search never came to its
// finals the best trials.
std::vector<Winner> own_results(const TuningDatabase& database, const DeviceQuery& device) {
  std::vector<Winner> results;
  std::set<std::tuple<std::string, GemmProblem, std::string>> finished;
  const std::vector<std::string> labels = label_spellings(device.label);
  for (const std::string& label : labels) {
    for (Winner& winner : database.winners(device.device_class, label)) {
      if (!usable(winner)) continue;
      finished.emplace(winner.device_class, winner.problem, winner.template_name);
      results.push_back(std::move(winner));
    }
  }
  for (const std::string& label : labels) {
    for (Winner& trial : database.best_trials(device.device_class, label)) {
      if (!usable(trial)) continue;
      if (finished.contains({trial.device_class, trial.problem, trial.template_name})) continue;
      results.push_back(std::move(trial));
    }
  }
  return results;
}

// The fastest `wanted` one of each silicon class and problem; shipped ones where the user has none
// of his own.
std::vector<Candidate> candidates(const TuningDatabase* database, DeviceQuery device,
                                  const std::function<bool(const Winner&)>& wanted) {
  // What is here counts by its silicon, not by its name.
  if (!device.device_class.empty()) device.label.clear();
  std::map<std::pair<std::string, GemmProblem>, Candidate> best;
  const auto consider = [&](Winner winner, bool shipped) {
    if (!wanted(winner)) return;
    const auto [place, is_new] = best.try_emplace({winner.device_class, winner.problem});
    Candidate& known = place->second;
    if (is_new ||
        (known.shipped == shipped && comparable_us(winner) < comparable_us(known.winner))) {
      known = {std::move(winner), shipped};
    }
  };
  if (database != nullptr) {
    for (Winner& winner : own_results(*database, device)) consider(std::move(winner), false);
  }
  std::vector<Winner> shipped;
  if (device.use_shipped) shipped = shipped_winners(device.device_class, device.label);
  for (Winner& winner : shipped) {
    if (usable(winner)) consider(std::move(winner), true);
  }
  std::vector<Candidate> result;
  for (auto& [key, candidate] : best) result.push_back(std::move(candidate));
  std::stable_partition(result.begin(), result.end(),
                        [](const Candidate& candidate) { return !candidate.shipped; });
  return result;
}

// Whether a configuration that was tuned for one problem can serve another.
bool fits(const Winner& winner, const GemmProblem& problem) {
  const KernelTemplate& kernel = *find_kernel_template(winner.template_name);
  return std::tie(winner.problem.op_a, winner.problem.op_b, winner.problem.math) ==
             std::tie(problem.op_a, problem.op_b, problem.math) &&
         kernel.supports(problem);
}

// What has changed since a winner was measured: "driver", "template source"; empty when nothing.
std::string changes_since(const Winner& winner, const DeviceQuery& device) {
  std::vector<std::string> changes;
  const KernelTemplate* kernel = find_kernel_template(winner.template_name);
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

Match match_of(Candidate candidate, const DeviceQuery& device, const GemmProblem& problem) {
  Match match{.winner = std::move(candidate.winner), .shipped = candidate.shipped};
  const std::string age = changes_since(match.winner, device);
  match.kind = match.winner.problem != problem ? MatchKind::nearest_size
               : age.empty()                   ? MatchKind::exact
                                               : MatchKind::exact_stale;
  match.explanation =
      match.winner.problem == problem
          ? "tuned for this size"
          : fmt::format("tuned for {}, {:.2f} octaves away", to_string(match.winner.problem),
                        octaves_apart(problem, match.winner.problem));
  if (!age.empty()) match.explanation += ", measured with an " + age;
  if (!match.winner.confirmed) match.explanation += ", not confirmed by finals";
  match.explanation += match.shipped ? "; shipped with the program" : "; from the database";
  return match;
}

}  // namespace

std::string to_string(MatchKind kind) {
  switch (kind) {
    case MatchKind::exact:
      return "exact";
    case MatchKind::exact_stale:
      return "exact, stale";
    case MatchKind::nearest_size:
      return "nearest size";
    case MatchKind::predicted:
      return "predicted";
  }
  throw Error("unknown match kind");
}

std::optional<Match> find_best(const TuningDatabase* database, const DeviceQuery& device,
                               const GemmProblem& problem, bool exact_only,
                               const std::function<bool(const Winner&)>& serves) {
  // A label may stand for several silicon classes: of equally near results the newest.
  const auto better = [&](const Candidate& a, const Candidate& b) {
    const double a_distance = octaves_apart(problem, a.winner.problem);
    const double b_distance = octaves_apart(problem, b.winner.problem);
    return std::tie(a_distance, a.shipped, b.winner.measured_at) <
           std::tie(b_distance, b.shipped, a.winner.measured_at);
  };
  // Asked of each winner, not of the fastest for its problem: that one may serve no other.
  const auto wanted = [&](const Winner& winner) {
    return fits(winner, problem) && (!exact_only || winner.problem == problem) &&
           (!serves || serves(winner));
  };
  std::optional<Candidate> best;
  for (Candidate& candidate : candidates(database, device, wanted)) {
    if (!best || better(candidate, *best)) best = std::move(candidate);
  }
  if (!best) return std::nullopt;
  return match_of(std::move(*best), device, problem);
}

std::vector<Match> list_winners(const TuningDatabase* database, const DeviceQuery& device) {
  std::vector<Match> matches;
  for (Candidate& candidate : candidates(database, device, [](const Winner&) { return true; })) {
    const GemmProblem problem = candidate.winner.problem;
    matches.push_back(match_of(std::move(candidate), device, problem));
  }
  return matches;
}

}  // namespace autotune
