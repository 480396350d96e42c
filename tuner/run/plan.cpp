#include "tuner/run/plan.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "db/shipped_winners.hpp"
#include "kernel_templates/cost_prior.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/run/stopping_rule.hpp"
#include "tuner/run/tuner.hpp"
#include "tuner/run/warm_start.hpp"

namespace autotune {
namespace {

// Without a budget, a space of up to this many trials is searched to the end.
constexpr std::int64_t kExhaustiveTrials = 5000;
constexpr double kDefaultBudget_s = 30;
constexpr double kDefaultUntil = 0.98;
// A busy machine may need so long to start a compiler, however short the budget is.
constexpr std::chrono::milliseconds kLeastForCompiler(10'000);

}  // namespace

SearchPlan::SearchPlan(const TuneRequest& request, const TunerSetup& setup, std::string run_guid)
    : request_(request), setup_(setup), start_(request.began.value_or(Clock::now())) {
  // The compiler's process starts while the spaces are enumerated.
  auto compiler =
      std::async(describe_compiler, std::cref(setup.make_compile_worker), compiler_timeout());
  make_spaces();
  make_tasks();
  compiler_ = compiler.get();
  const Environment environment{.driver = setup.device.driver_text(),
                                .nvrtc_build = compiler_.build,
                                .tool_version = kVersion,
                                .measuring_protocol = kMeasuringProtocol};
  stored_.emplace(*setup.database, setup.device, environment, spaces_);
  completion_.emplace(*setup.database, request_, ends_by_default_, setup.device.device_class(),
                      stored_->environment());
  SharedTrials::Scopes scopes;
  for (const CandidateSpace& space : spaces_) {
    scopes.emplace(space.kernel, stored_->scope_of(*space.kernel));
  }
  shared_.emplace(*setup.database, std::move(scopes), std::move(run_guid), request_.fresh);
}

std::chrono::milliseconds SearchPlan::compiler_timeout() const {
  if (request_.budget.trials && !request_.budget.seconds) return setup_.compile_timeout;
  const std::chrono::duration<double> budget(request_.budget.seconds.value_or(kDefaultBudget_s) /
                                             device_share());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(start_ + budget - Clock::now());
  return std::min(setup_.compile_timeout, std::max(kLeastForCompiler, left));
}

void SearchPlan::make_spaces() {
  std::vector<SpaceSummary> summaries = summarize_space(request_, setup_.device, setup_.kernels);
  check_not_empty(summaries);
  for (SpaceSummary& summary : summaries) {
    if (summary.enumeration.configurations.empty()) continue;
    spaces_.emplace_back(*summary.kernel, std::move(summary.enumeration.configurations),
                         std::move(summary.problem));
  }
}

std::vector<SearchPlan::PlannedSearch> SearchPlan::planned_searches() const {
  std::vector<PlannedSearch> searches;
  for (const Problem& asked : request_.problems) {
    for (const CandidateSpace& space : spaces_) {
      if (!space.answers(asked)) continue;
      for (const Problem& problem : searched_problems(request_, *space.kernel, asked)) {
        if (!why_too_large(*space.kernel->operation, problem, setup_.device).empty()) continue;
        searches.push_back({asked, problem, &space});
      }
    }
  }
  // The kernel that runs now has the first turn.
  std::ranges::stable_partition(searches, [&](const PlannedSearch& search) {
    return std::ranges::any_of(request_.begin_with, [&](const Winner& in_use) {
      return in_use.problem == search.problem && in_use.template_name == search.space->kernel->name;
    });
  });
  return searches;
}

std::vector<Winner> SearchPlan::known_winners(const std::string& device_class) const {
  std::vector<Winner> winners = setup_.database->winners({});
  std::erase_if(winners, [this](const Winner& winner) {
    return setup_.kernels.operation_of(winner.problem) == nullptr;
  });
  if (request_.use_shipped_winners) {
    for (const Winner* shipped : shipped_winners({})) winners.push_back(*shipped);
  }
  for (Winner in_use : request_.begin_with) {
    in_use.device_class = device_class;
    winners.push_back(std::move(in_use));
  }
  return winners;
}

bool SearchPlan::is_searched(const Suggestion& suggestion) const {
  return std::ranges::any_of(spaces_, [&](const CandidateSpace& space) {
    return space.kernel == suggestion.kernel && space.index_of(suggestion.configuration);
  });
}

void SearchPlan::make_tasks() {
  const std::vector<PlannedSearch> searches = planned_searches();
  for (const PlannedSearch& search : searches) {
    total_trials_ += static_cast<std::int64_t>(search.space->configurations.size());
  }
  choose_budget_and_strategy();
  std::map<Problem, Expectation> expected;
  std::map<Problem, std::shared_ptr<Convergence>> convergence;
  for (const auto& [asked, problem, space] : searches) {
    const auto [place, is_new] = expected.try_emplace(problem);
    if (is_new && setup_.expect) {
      place->second = setup_.expect(problem, request_.use_shipped_winners);
    }
    const Expectation& of_problem = place->second;
    // Of searches with alternatives nothing is known.
    const bool is_known =
        !request_.alternatives.contains(asked) &&
        (of_problem.suggestions.empty() || is_searched(of_problem.suggestions.front()));
    convergence.try_emplace(asked, std::make_shared<Convergence>(
                                       request_.strategy, is_known ? of_problem.patience : 0));
  }
  const std::string device_class = setup_.device.device_class();
  const std::vector<Winner> winners = known_winners(device_class);
  for (const auto& [asked, problem, space] : searches) {
    tasks_.emplace_back(
        tasks_.size(), asked, problem, *space, request_.strategy, request_.seed,
        prior_for(*space->kernel, space->configurations, problem, setup_.device.sm,
                  setup_.device.sm_count),
        warm_starts(problem, device_class, *space, winners, expected[problem].suggestions),
        convergence[asked], request_.max_error);
  }
  for (SearchTask& task : tasks_) tasks_of_[task.asked()].push_back(&task);
}

void SearchPlan::choose_budget_and_strategy() {
  const bool exhaustive =
      total_trials_ <= kExhaustiveTrials && setup_.device.capabilities().exhaustive_by_default;
  if (request_.budget.unlimited() && !exhaustive) {
    request_.budget.seconds = kDefaultBudget_s;
    ends_by_default_ = !request_.until;
    if (ends_by_default_) request_.until = kDefaultUntil;
  }
  if (request_.strategy.empty()) {
    request_.strategy = request_.budget.unlimited() && !request_.until ? "exhaustive" : "model";
  }
}

void SearchPlan::update() {
  // A run stores that a search is complete after the search's trials and winners. They are read in
  // the opposite order, so that what is complete has its results.
  struct Stored {
    SearchTask* task;
    std::optional<SearchEnd> end;
    bool was_complete;  // in another environment
  };
  std::vector<Stored> all;
  for (SearchTask& task : tasks_) {
    const auto end = request_.fresh ? std::nullopt : completion_->end_of(task);
    all.push_back({&task, end,
                   !request_.fresh && !end && completion_->complete_in_another_environment(task)});
  }
  stored_->load_winners();
  shared_->load(tasks_, stored_->rates());
  open_.clear();
  stale_.clear();
  for (const auto& [task, end, was_complete] : all) {
    if (end && has_trials_of(*task, *end)) continue;
    (was_complete && stored_->winner(*task) ? stale_ : open_).push_back(task);
  }
  find_undecided();
}

// A limit of the error may keep a winner from being stored, so there it says nothing.
void SearchPlan::find_undecided() {
  undecided_.clear();
  if (request_.max_error) return;
  for (const auto& [problem, tasks] : tasks_of_) {
    const bool has_result =
        std::ranges::any_of(tasks, [](const SearchTask* task) { return task->best() != nullptr; });
    if (has_result && !has_winner(problem)) undecided_.insert(problem);
  }
  for (const auto* const unfinished : {&open_, &stale_}) {
    for (const SearchTask* task : *unfinished) undecided_.erase(task->asked());
  }
}

std::optional<SearchPlan::Clock::time_point> SearchPlan::deadline(double share) const {
  if (!request_.budget.seconds) return std::nullopt;
  const std::chrono::duration<double> time(share * *request_.budget.seconds / device_share());
  return start_ + std::chrono::duration_cast<Clock::duration>(time);
}

bool SearchPlan::is_over(double share) const {
  const auto end = deadline(share);
  return end && Clock::now() >= *end;
}

std::string SearchPlan::too_large(const Problem& problem) const {
  for (const CandidateSpace& space : spaces_) {
    if (!space.answers(problem)) continue;
    if (searched_problems(request_, *space.kernel, problem).empty()) continue;
    return why_too_large(*space.kernel->operation, problem, setup_.device);
  }
  return "";
}

const std::vector<SearchTask*>& SearchPlan::tasks_of(const Problem& problem) const {
  static const std::vector<SearchTask*> none;
  const auto found = tasks_of_.find(problem);
  return found == tasks_of_.end() ? none : found->second;
}

bool SearchPlan::has_winner(const Problem& problem) const {
  return std::ranges::any_of(tasks_of(problem), [this](const SearchTask* task) {
    const std::optional<Winner> winner = stored_->current_winner(*task);
    return winner && task->accepts(winner->verification);
  });
}

bool SearchPlan::lacks_finals(const Problem& problem, SearchEnd end) const {
  const bool is_open =
      std::ranges::any_of(open_, [&](const SearchTask* task) { return task->asked() == problem; });
  return undecided_.contains(problem) ||
         (is_open && (end != SearchEnd::good_enough || ends_by_default_ || !has_winner(problem)));
}

std::vector<CompletedRequest> SearchPlan::completed(SearchEnd end, bool retimed,
                                                    const std::set<Problem>& missed_finals) const {
  std::vector<CompletedRequest> completed;
  const auto add = [&](const std::vector<SearchTask*>& tasks, SearchEnd how) {
    for (const SearchTask* task : tasks) {
      if (!was_tried(*task)) continue;
      // find_undecided() finds the others.
      const bool is_held = !request_.max_error && !has_winner(task->asked());
      if (missed_finals.contains(task->asked()) && !is_held) continue;
      const bool is_good =
          request_.until && reached_share(tasks_of(task->asked())) >= *request_.until;
      SearchEnd own = how;
      if (task->exhausted()) {
        own = SearchEnd::exhausted;
      } else if (is_good && !ends_by_default_) {
        continue;  // the rest of the budget was not used for it
      } else if (is_good) {
        own = SearchEnd::good_enough;
      }
      for (CompletedRequest& row : completion_->rows(*task, own)) {
        completed.push_back(std::move(row));
      }
    }
  };
  add(open_, end);
  if (retimed) add(stale_, ends_by_default_ ? SearchEnd::good_enough : SearchEnd::budget);
  return completed;
}

bool SearchPlan::has_trials_of(const SearchTask& task, SearchEnd end) const {
  return end == SearchEnd::exhausted ? task.exhausted() : was_tried(task);
}

bool SearchPlan::was_tried(const SearchTask& task) const {
  return std::ranges::any_of(tasks_of(task.asked()),
                             [](const SearchTask* other) { return !other->trials().empty(); });
}

}  // namespace autotune
