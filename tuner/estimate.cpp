#include "tuner/estimate.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "autotune/error.hpp"

#include "core/device_info.hpp"
#include "core/problem_distance.hpp"
#include "kernel_templates/time_estimate.hpp"
#include "tuner/experience.hpp"

namespace autotune {
namespace {

// What problems farther away teach is worth less than the estimate alone (docs/search.md).
constexpr double kFarthestOctaves = 2.5;
constexpr std::size_t kFewestTrials = 50;
constexpr std::size_t kMostSources = 3;  // are looked at for one with so many

// Where trials of a template may be found.
struct Source {
  TrialScope scope;
  GemmProblem problem;
};

// The best first.
std::vector<Source> sources(const KernelTemplate& kernel, const GemmProblem& problem,
                            const std::string& silicon_class, std::span<const Winner> winners) {
  std::vector<std::pair<std::pair<bool, double>, Source>> near;
  for (const Winner& winner : winners) {
    const double octaves = octaves_apart(problem, winner.problem);
    if (winner.template_name != kernel.name || winner.interface_number != kernel.interface_number ||
        octaves > kFarthestOctaves) {
      continue;
    }
    const TrialScope scope{winner.silicon_class, winner.template_name, winner.interface_number,
                           winner.source_hash, winner.environment};
    near.push_back({{winner.silicon_class != silicon_class, octaves}, {scope, winner.problem}});
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMostSources) near.resize(kMostSources);
  std::vector<Source> result;
  for (auto& [distance, source] : near) result.push_back(std::move(source));
  return result;
}

std::optional<Experience> experience_from(const Source& source, const CandidateSpace& space,
                                          const TuningDatabase& database) {
  const Estimate estimate =
      estimate_for(*space.kernel, space.configurations, source.problem, source.scope.silicon_class);
  if (!estimate) return std::nullopt;
  std::vector<std::size_t> indices;
  std::vector<double> times_us;
  try {
    for (const Trial& trial : database.trials(source.scope, source.problem)) {
      const std::optional<std::size_t> index = space.index_of(trial.configuration);
      if (!trial.ok() || !index) continue;
      indices.push_back(*index);
      times_us.push_back(trial.measurement.median_us);
    }
  } catch (const StorageError&) {
    return std::nullopt;  // the search does without, and tells of it when it stores its trials
  }
  if (indices.size() < kFewestTrials) return std::nullopt;
  return Experience(space.configurations, indices, times_us, estimate);
}

}  // namespace

Estimate estimate_for(const KernelTemplate& kernel,
                      const std::vector<Configuration>& configurations, const GemmProblem& problem,
                      const std::string& silicon_class) {
  const Silicon silicon = parse_silicon_class(silicon_class);
  const std::optional<SmLimits> sm = sm_limits(silicon.architecture);
  if (!sm || silicon.sm_count == 0) return {};
  return [&kernel, &configurations, problem, sm = *sm,
          sm_count = silicon.sm_count](std::size_t index) {
    return estimated_cycles(kernel, configurations[index], problem, sm, sm_count);
  };
}

Estimate experienced_estimate(const CandidateSpace& space, const GemmProblem& problem,
                              const std::string& silicon_class, std::span<const Winner> winners,
                              const TuningDatabase& database) {
  const Estimate estimate =
      estimate_for(*space.kernel, space.configurations, problem, silicon_class);
  const std::vector<Source> near = sources(*space.kernel, problem, silicon_class, winners);
  if (!estimate || near.empty()) return estimate;
  struct Memory {
    bool was_read = false;
    std::optional<Experience> experience;
  };
  return [&space, &database, estimate, near,
          memory = std::make_shared<Memory>()](std::size_t index) {
    if (!std::exchange(memory->was_read, true)) {
      for (const Source& source : near) {
        memory->experience = experience_from(source, space, database);
        if (memory->experience) break;
      }
    }
    const double alone = estimate(index);
    return memory->experience ? alone * memory->experience->slowness(space.configurations[index])
                              : alone;
  };
}

}  // namespace autotune
