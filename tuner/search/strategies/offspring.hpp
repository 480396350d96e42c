// Children of two good configurations, as a genetic algorithm makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "autotune/configuration.hpp"

#include "tuner/search/strategies/leaders.hpp"
#include "tuner/search/strategies/untried.hpp"

namespace autotune {

class Offspring {
 public:
  // Parents are among the `population` fastest trials. `configurations` outlives it.
  Offspring(const std::vector<Configuration>& configurations, std::uint64_t seed,
            std::size_t population)
      : configurations_(configurations), generator_(seed), population_(population) {}

  void report(std::size_t index, const Trial& trial) { population_.report(index, trial); }
  // An untried configuration that takes each parameter from one of two parents and sometimes
  // mutates, or a neighbour of a parent where no such child is found; nullopt before two trials
  // have succeeded.
  [[nodiscard]] std::optional<std::size_t> child(const Untried& untried);

 private:
  [[nodiscard]] Configuration crossed(const Configuration& mother, const Configuration& father);
  [[nodiscard]] std::optional<std::size_t> mutant(std::size_t of, const Untried& untried) const;
  [[nodiscard]] std::size_t parent();
  [[nodiscard]] std::size_t draw(std::size_t below) {
    return below == 0 ? 0 : generator_() % below;
  }
  void index_space();

  const std::vector<Configuration>& configurations_;
  std::mt19937_64 generator_;
  Leaders population_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // by the values' hash
};

}  // namespace autotune
