#include "gemm/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "autotune/error.hpp"
#include "core/hash.hpp"
#include "db/shipped_winners.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {
namespace {

// A confirmed winner is preferred to a screening that looks this little faster.
constexpr double kConfirmedMargin = 1.02;

struct Candidate {
  Winner winner;
  bool shipped = false;
};

// Whether the templates that are here can still make this winner's kernel.
bool usable(Winner& winner) {
  const KernelTemplate* kernel = find_kernel_template(winner.template_name);
  if (kernel == nullptr || kernel->interface_number != winner.interface_number) return false;
  try {
    winner.configuration = kernel->space.validated(winner.configuration);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

double effective_us(const Winner& winner) {
  return winner.confirmed ? winner.median_us : kConfirmedMargin * winner.median_us;
}

// One candidate a silicon class and problem: what the user's own finals say, else his best trial,
// else what was shipped.
std::vector<Candidate> candidates(const TuningDatabase* database, const DeviceQuery& device) {
  std::map<std::pair<std::string, GemmProblem>, Candidate> best;
  const auto consider = [&](std::vector<Winner> winners, bool shipped) {
    for (Winner& winner : winners) {
      if (!usable(winner)) continue;
      const auto key = std::pair(winner.silicon_class, winner.problem);
      const auto found = best.find(key);
      if (found == best.end()) {
        best.emplace(key, Candidate{std::move(winner), shipped});
      } else if (!shipped && effective_us(winner) < effective_us(found->second.winner)) {
        found->second = {std::move(winner), shipped};
      }
    }
  };
  // What is here counts by its silicon, not by its name.
  const std::string label = device.silicon_class.empty() ? device.label : "";
  if (database != nullptr) {
    consider(database->winners(device.silicon_class, label), false);
    consider(database->best_trials(device.silicon_class, label), false);
  }
  consider(shipped_winners(device.silicon_class, label), true);

  std::vector<Candidate> result;
  for (auto& [key, candidate] : best) result.push_back(std::move(candidate));
  return result;
}

double distance(const GemmProblem& a, const GemmProblem& b) {
  const auto octaves = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  return octaves(a.m, b.m) + octaves(a.n, b.n) + octaves(a.k, b.k);
}

// What has changed since a winner was measured: "driver", "template source"; empty when nothing.
std::string aged_by(const Winner& winner, const DeviceQuery& device) {
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
  const std::string age = aged_by(match.winner, device);
  match.kind = match.winner.problem != problem ? MatchKind::nearest_size
               : age.empty()                   ? MatchKind::exact
                                               : MatchKind::exact_aged;
  match.explanation = match.winner.problem == problem
                          ? "tuned for this size"
                          : fmt::format("tuned for {}, {:.2f} octaves away",
                                        to_string(match.winner.problem),
                                        distance(problem, match.winner.problem));
  if (!age.empty()) match.explanation += ", measured with an " + age;
  if (!match.winner.confirmed) match.explanation += ", not confirmed by finals";
  match.explanation += match.shipped ? "; shipped with the program" : "; from the database";
  return match;
}

}  // namespace

std::string to_string(MatchKind kind) {
  switch (kind) {
    case MatchKind::exact: return "exact";
    case MatchKind::exact_aged: return "exact, aged";
    case MatchKind::nearest_size: return "nearest size";
  }
  throw Error("unknown match kind");
}

std::optional<Match> find_best(const TuningDatabase* database, const DeviceQuery& device,
                               const GemmProblem& problem, bool exact_only) {
  std::optional<Candidate> nearest;
  for (Candidate& candidate : candidates(database, device)) {
    const GemmProblem& tuned = candidate.winner.problem;
    if (std::tie(tuned.op_a, tuned.op_b, tuned.math) !=
            std::tie(problem.op_a, problem.op_b, problem.math) ||
        (exact_only && tuned != problem)) {
      continue;
    }
    if (!nearest || distance(problem, tuned) < distance(problem, nearest->winner.problem)) {
      nearest = std::move(candidate);
    }
  }
  if (!nearest) return std::nullopt;
  return match_of(std::move(*nearest), device, problem);
}

std::vector<Match> list_winners(const TuningDatabase* database, const DeviceQuery& device) {
  std::vector<Match> matches;
  for (Candidate& candidate : candidates(database, device)) {
    const GemmProblem problem = candidate.winner.problem;
    matches.push_back(match_of(std::move(candidate), device, problem));
  }
  return matches;
}

}  // namespace autotune
