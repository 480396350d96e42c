// The algorithms of a baseline (gpu/baseline.hpp), sampled in turn in the rounds of a comparison.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autotune/baseline_time.hpp"

#include "core/trial.hpp"

namespace autotune {

// A finalist or algorithm stays in the comparison for this many rounds. Later it must tie with the
// best one: its time is at most so many times as long.
inline constexpr int kFirstRounds = 3;
inline constexpr double kTieMargin = 1.02;

class BaselineRounds {
 public:
  struct Algorithm {
    int number = 0;  // 0: the library's own choice
    Trial trial;     // the first one, or the one that failed
    std::vector<double> samples_us;
  };
  // Takes one sample of an algorithm; nullopt if the time is over.
  using Sample = std::function<std::optional<Trial>(int algorithm)>;

  explicit BaselineRounds(Sample sample) : sample_(std::move(sample)) {}

  // Samples each algorithm once. After the first rounds those that are too far behind the best drop
  // out, but for the library's own choice. An algorithm that fails drops out as well. A round for
  // which there is not enough time counts for nothing; false is then returned.
  bool play();

  // The algorithm with the least median among those with a sample of each round; nullptr without
  // any, and when the library's own choice has failed.
  [[nodiscard]] const Algorithm* best() const;
  // The failed trial of the library's own choice, which ends the rounds; else nullptr. A wrong
  // result of it only leaves it out, unless nothing else is right.
  [[nodiscard]] const Trial* failure() const;

  // The best algorithm as the library's time, beside the samples of a kernel in the same rounds, if
  // there are any. Nullopt without one.
  [[nodiscard]] std::optional<BaselineTime> time(const std::string& library,
                                                 std::span<const double> beside_us) const;
  // Why there is no best algorithm, or which ones give wrong results and are left out. One line;
  // empty where nothing is to be said.
  [[nodiscard]] std::string problem(const std::string& library) const;

 private:
  [[nodiscard]] bool is_left(const Algorithm& algorithm) const;

  Sample sample_;
  std::size_t rounds_ = 0;  // whole ones
  std::vector<Algorithm> algorithms_ = {{}};
};

}  // namespace autotune
