// Neighbours of the best configurations so far, with a share of random ones against local optima. A
// configuration's neighbours differ from it in few parameters; the nearest come first.
#include <algorithm>
#include <map>

#include "tuner/search/strategies/leaders.hpp"
#include "tuner/search/strategies/neighbours.hpp"
#include "tuner/search/strategies/untried.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

class Local : public SearchStrategy {
 public:
  explicit Local(const SearchSpace& space)
      : configurations_(*space.configurations), untried_(configurations_.size(), space.seed) {}

  std::optional<std::size_t> next() override {
    const std::size_t turn = turn_++;
    std::optional<std::size_t> index;
    if (turn >= kFirst && turn % 4 != 0) index = neighbour(turn);
    if (!index) return untried_.take_next();
    untried_.take(*index);
    return index;
  }

  void report(std::size_t index, const Trial& trial) override {
    untried_.take(index);
    leaders_.report(index, trial);
  }

 private:
  static constexpr std::size_t kFirst = 32;          // random proposals before there are leaders
  static constexpr std::size_t kLeaders = 4;         // whose neighbours are tried
  static constexpr std::size_t kMostDifferent = 3;   // parameters in which a neighbour differs
  static constexpr std::size_t kNeighbours = 1'000;  // of one leader at most

  // The untried neighbours of one leader, the nearest last.
  using Neighbours = std::vector<Neighbour>;

  // A neighbour of the best leader in every other turn, otherwise of the other leaders in turn. A
  // leader without neighbours left is passed over.
  std::optional<std::size_t> neighbour(std::size_t turn) {
    if (leaders_.size() == 0) return std::nullopt;
    const std::size_t first = turn % 2 == 0 ? 0 : turn / 2 % leaders_.size();
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      Neighbours& left = neighbours(leaders_[(first + i) % leaders_.size()]);
      while (!left.empty()) {
        const std::size_t index = left.back().index;
        left.pop_back();
        if (untried_.contains(index)) return index;
      }
    }
    return std::nullopt;
  }

  Neighbours& neighbours(std::size_t leader) {
    const auto [place, is_new] = neighbours_.try_emplace(leader);
    if (is_new) {
      place->second =
          find_neighbours(configurations_, untried_, leader, kMostDifferent, kNeighbours);
      std::ranges::reverse(place->second);
    }
    return place->second;
  }

  const std::vector<Configuration>& configurations_;
  Untried untried_;
  std::size_t turn_ = 0;
  Leaders leaders_{kLeaders};
  std::map<std::size_t, Neighbours> neighbours_;  // of all former and present leaders
};

}  // namespace

std::unique_ptr<SearchStrategy> make_local(const SearchSpace& space) {
  return std::make_unique<Local>(space);
}

}  // namespace autotune
