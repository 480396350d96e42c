#include "select/choice.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/portfolio.hpp"

namespace autotune {
namespace {

// The problems whose results answer a problem: it goes first, behind it stricter maths of it.
std::vector<Problem> answering(const Problem& problem) {
  const std::optional<GemmProblem> gemm = if_gemm(problem);
  if (!gemm) return {problem};
  const std::vector<GemmProblem> stricter = with_stricter_maths(*gemm);
  return {stricter.begin(), stricter.end()};
}

bool accepts(const ChoiceQuery& query, const KernelTemplate& kernel,
             const Configuration& configuration, const Problem& problem) {
  return !query.serves || query.serves(kernel, configuration, problem);
}

std::optional<Choice> stored_choice(const ChoiceQuery& query, const Problem& problem,
                                    bool exact_only) {
  const KernelSet& kernels = query.device.kernels;
  auto match =
      find_best(query.database, query.device, problem, exact_only, [&](const Winner& winner) {
        return accepts(query, *kernels.find(winner.template_name), winner.configuration, problem);
      });
  if (!match) return std::nullopt;
  Choice choice{.kernel = kernels.find(match->winner.template_name),
                .configuration = match->winner.configuration,
                .problem = problem,
                .evidence = {}};
  choice.evidence = std::move(*match);
  return choice;
}

// Returns whether two choices run the same code. On tensor cores a math has code of its own.
bool same_code(const Choice& a, const Choice& b) {
  return a.kernel == b.kernel && a.configuration == b.configuration &&
         (a.problem == b.problem || !a.kernel->tensor_products);
}

// The predictions for some problems together, the best first; each kernel once.
std::vector<Choice> predicted_choices(const ChoiceQuery& query,
                                      const std::vector<Problem>& problems) {
  std::vector<Choice> all;
  for (const Problem& problem : problems) {
    const std::optional<GemmProblem> gemm = if_gemm(problem);
    if (!gemm) continue;
    const std::vector<Winner> known = nearest_winners(
        query.database, query.device, problem, kKnownWinners, [](const Winner&) { return true; });
    for (Prediction& one : predict(
             {.problem = *gemm, .aligned = query.aligned, .device = query.limits, .known = known},
             query.portfolios.of(gemm->math))) {
      Choice choice{one.kernel, one.configuration, problem, {}};
      choice.evidence = std::move(one);
      all.push_back(std::move(choice));
    }
  }
  std::ranges::stable_sort(all, {},
                           [](const Choice& one) { return cautious_us(*one.predicted()); });
  std::vector<Choice> result;
  for (Choice& one : all) {
    if (result.size() >= query.most) break;
    const auto is_known = [&](const Choice& other) { return same_code(one, other); };
    if (std::ranges::any_of(result, is_known)) continue;
    if (!fits_device(*one.kernel, one.configuration, query.limits.info)) continue;
    if (accepts(query, *one.kernel, one.configuration, one.problem))
      result.push_back(std::move(one));
  }
  return result;
}

// Puts the predictions that promise to beat the best result before the results, the others behind.
std::vector<Choice> in_order(std::vector<Choice> measured, std::vector<Choice> predicted) {
  const double best_us = measured.empty() ? 0 : measured.front().time_us();
  const auto beats = [&](const Choice& one) {
    return one.time_us() * (1 + one.predicted()->error) < best_us;
  };
  const auto rest = std::stable_partition(predicted.begin(), predicted.end(), beats);
  measured.insert(measured.begin(), std::move_iterator(predicted.begin()),
                  std::move_iterator(rest));
  measured.insert(measured.end(), std::move_iterator(rest), std::move_iterator(predicted.end()));
  return measured;
}

}  // namespace

bool Choice::is_measured() const {
  return stored() != nullptr && stored()->kind != MatchKind::nearest_size;
}

double Choice::time_us() const {
  if (predicted() != nullptr) return predicted()->time_us;
  return is_measured() ? stored()->winner.median_us : 0;
}

MatchKind Choice::match() const {
  return predicted() != nullptr ? match_kind(*predicted()) : stored()->kind;
}

std::string Choice::explanation() const {
  return predicted() != nullptr ? "predicted: " + to_string(*predicted()) : stored()->explanation;
}

std::vector<Choice> choices(const ChoiceQuery& query) {
  const std::vector<Problem> problems = answering(query.problem);
  std::vector<Choice> measured;
  std::vector<Problem> untuned;
  for (const Problem& problem : problems) {
    std::optional<Choice> choice = stored_choice(query, problem, /*exact_only=*/true);
    if (!choice || !choice->stored()->winner.confirmed) untuned.push_back(problem);
    if (choice) measured.push_back(std::move(*choice));
  }
  std::ranges::stable_sort(measured, {},
                           [](const Choice& one) { return comparable_us(one.stored()->winner); });
  // A search of a math has tried the kernels of stricter ones.
  const bool is_tuned = untuned.empty() || untuned.front() != query.problem;
  if (is_tuned || query.only_measured || query.device.max_error) return measured;
  std::vector<Choice> predicted;
  if (query.device.use_shipped) predicted = predicted_choices(query, untuned);
  if (!measured.empty() || !predicted.empty()) {
    return in_order(std::move(measured), std::move(predicted));
  }
  for (const Problem& problem : problems) {
    if (auto choice = stored_choice(query, problem, /*exact_only=*/false))
      return {*std::move(choice)};
  }
  return {};
}

PredictedDevice limits_of(const ResultReader* database, const DeviceQuery& device) {
  if (!device.device_class.empty()) return predicted_device(device.device_class);
  const std::vector<Match> known = list_winners(database, device);
  const auto newest = std::ranges::max_element(
      known, {}, [](const Match& match) { return recency(match.winner, match.shipped); });
  return newest == known.end() ? PredictedDevice() : predicted_device(newest->winner.device_class);
}

}  // namespace autotune
