// The search of one problem in one template's space: the configurations that are still to be tried,
// the trials so far, and the best of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/kernel_template.hpp"
#include "tuner/devices/jobs.hpp"
#include "tuner/run/warm_start.hpp"
#include "tuner/search/convergence.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

// The configurations of one template that are searched, and the index of each.
struct CandidateSpace {
  const KernelTemplate* kernel = nullptr;
  std::vector<Configuration> configurations;
  std::optional<Problem> problem;  // the only one that is searched in it; empty: all

  CandidateSpace(const KernelTemplate& kernel, std::vector<Configuration> configurations,
                 std::optional<Problem> problem = {});
  // Returns whether it is searched to answer a problem.
  [[nodiscard]] bool answers(const Problem& asked) const { return !problem || *problem == asked; }
  [[nodiscard]] std::optional<std::size_t> index_of(const Configuration& configuration) const;
  // The configurations with the machine code of this one, itself first.
  [[nodiscard]] std::vector<std::size_t> with_the_code_of(std::size_t index) const;

 private:
  std::vector<std::uint32_t> sorted_;  // indices, by configuration
};

// The number of trials after which templates are compared. In 54 searches of all templates the one
// that won was never slower than another by 1.14 after its twelfth trial
// (benchmarks/results/statement/searches_22s.txt.zst).
inline constexpr std::size_t kFairTrials = 12;

class SearchTask {
 public:
  // `id` is the task's number in its run. It searches `problem` to answer `asked`, the same one or
  // one that has it among its TuneRequest::alternatives. `space` is shared by the tasks of a
  // template and outlives them. `estimate` may be empty. The tasks of `asked` share `convergence`.
  // With max_error, trials with a greater relative Frobenius error count as failures.
  SearchTask(std::size_t id, const Problem& asked, const Problem& problem,
             const CandidateSpace& space, const std::string& strategy, std::uint64_t seed,
             Prior estimate, const std::vector<WarmStart>& starts,
             std::shared_ptr<Convergence> convergence, std::optional<double> max_error = {});

  // The configuration to try next: the starts, then what was suggested, then the strategy's choice.
  std::optional<std::size_t> propose();
  // Makes a configuration that did well for another problem one of the next to try, unless it was
  // proposed before.
  void suggest(std::size_t index);
  // Takes it from what is to be tried, for a caller that tries it itself. Returns false if it is
  // not there.
  bool take_suggested(std::size_t index) { return std::erase(suggested_, index) > 0; }
  // Reserves a configuration for a caller that tries it itself. Returns false if it was proposed
  // before or has a trial.
  bool try_reserve(std::size_t index) { return !knows(index) && named_.insert(index).second; }
  [[nodiscard]] bool knows(std::size_t index) const {
    return trials_.contains(index) || named_.contains(index);
  }
  void record(std::size_t index, Trial trial);
  // Adds a trial from the database, unless its configuration is not in this space or has a trial
  // already.
  void record_known(Trial trial);

  [[nodiscard]] std::size_t id() const { return id_; }
  [[nodiscard]] const Problem& asked() const { return asked_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const KernelTemplate& kernel() const { return *space_->kernel; }
  [[nodiscard]] const CandidateSpace& space() const { return *space_; }
  [[nodiscard]] const std::map<std::size_t, Trial>& trials() const { return trials_; }
  [[nodiscard]] std::int64_t known() const { return known_; }
  [[nodiscard]] std::int64_t measured() const {
    return static_cast<std::int64_t>(trials_.size()) - known_;
  }
  // Returns whether enough was tried to compare the template with others: kFairTrials and what was
  // expected to be fast, or the whole space.
  [[nodiscard]] bool had_fair_trial() const;
  // Returns whether this configuration was a winner for this problem before.
  [[nodiscard]] bool has_won(std::size_t index) const { return won_.contains(index); }
  // Returns whether every configuration of the space has a trial.
  [[nodiscard]] bool exhausted() const { return trials_.size() == space_->configurations.size(); }
  // The labels of other devices whose winners it began with.
  [[nodiscard]] const std::set<std::string>& began_with() const { return began_with_; }
  [[nodiscard]] const Convergence& convergence() const { return *convergence_; }
  // Returns whether a trial may win: it is correct, and accurate enough.
  [[nodiscard]] bool accepts(const Trial& trial) const {
    return trial.ok() && accepts(trial.verification);
  }
  [[nodiscard]] bool accepts(const Verification& verification) const {
    return !max_error_ || verification.keeps_to(*max_error_);
  }
  // Returns whether a trial was correct, but not accurate enough.
  [[nodiscard]] bool has_rejected() const { return has_rejected_; }
  // The fastest trial that may win; nullptr when there is none.
  [[nodiscard]] const Trial* best() const;
  // The least time of any trial that may win. Devices update it before the trial is recorded.
  [[nodiscard]] BestTime& best_time() { return *best_time_; }

 private:
  std::optional<std::size_t> next_of(std::deque<std::size_t>& queue) const;

  std::size_t id_;
  Problem asked_;
  Problem problem_;
  const CandidateSpace* space_;
  std::unique_ptr<SearchStrategy> strategy_;
  std::deque<std::size_t> starts_;
  std::deque<std::size_t> suggested_;
  std::set<std::size_t> named_;  // these, and the configurations that the strategy has proposed
  std::vector<std::size_t> expected_;  // of the starts: WarmStart::is_expected
  std::set<std::size_t> won_;
  std::set<std::string> began_with_;
  std::map<std::size_t, Trial> trials_;
  std::shared_ptr<Convergence> convergence_;
  std::optional<std::size_t> best_;
  std::unique_ptr<BestTime> best_time_ = std::make_unique<BestTime>();
  std::int64_t known_ = 0;
  std::optional<double> max_error_;
  bool has_rejected_ = false;
};

}  // namespace autotune
