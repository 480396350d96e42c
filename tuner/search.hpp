// The search: keeps compile workers ahead of the measuring worker until every lane is exhausted,
// the budget is used up or somebody asks to stop.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "tuner/kernel_builder.hpp"
#include "tuner/lane.hpp"
#include "tuner/trial_runner.hpp"

namespace autotune {

struct SearchLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<std::int64_t> trials;
  std::size_t lookahead = 1;  // proposals being compiled or waiting to be measured, at most
  std::stop_token stop;
};

enum class SearchEnd { exhausted, budget, stopped };

// Belongs to one thread.
class Search {
 public:
  // Called for each trial that was just made.
  using TrialSink = std::function<void(const Lane&, const Trial&)>;

  Search(std::vector<Lane*> lanes, KernelBuilder& builder, TrialRunner& runner, TrialSink sink);

  SearchEnd run(const SearchLimits& limits);
  [[nodiscard]] std::int64_t measured() const { return measured_; }

 private:
  struct Proposal {
    Lane* lane;
    std::size_t index;
    KernelBuilder::Ticket ticket;
  };

  // Asks the lanes in turn, so that those who go through a space in the same order share kernels.
  void propose(const SearchLimits& limits);
  bool propose_one();
  [[nodiscard]] bool is_behind(const Lane& lane) const;
  // Runs the first proposal whose kernel is built; false when there is none.
  bool measure_one();

  std::vector<Lane*> lanes_;
  KernelBuilder& builder_;
  TrialRunner& runner_;
  TrialSink sink_;
  std::deque<Proposal> waiting_;
  std::size_t turn_ = 0;
  std::int64_t measured_ = 0;
};

}  // namespace autotune
