// Neighbours of the best configurations so far, with a share of random ones against local optima. A
// configuration's neighbours differ from it in few parameters; the nearest come first.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "tuner/strategy.hpp"

namespace autotune {
namespace {

constexpr std::size_t kFirst = 32;          // random ones, before there is anything to go by
constexpr std::size_t kLeaders = 4;         // whose neighbours are tried
constexpr std::size_t kMostDifferent = 3;   // parameters in which a neighbour differs
constexpr std::size_t kNeighbours = 1'000;  // of one leader, at most

class Local : public SearchStrategy {
 public:
  explicit Local(const SearchSpace& space)
      : configurations_(*space.configurations),
        generator_(space.seed),
        order_(configurations_.size()),
        done_(configurations_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t left = order_.size(); left > 1; --left) {
      std::swap(order_[left - 1], order_[generator_() % left]);
    }
  }

  std::optional<std::size_t> next() override {
    const std::size_t turn = turn_++;
    std::optional<std::size_t> index;
    if (turn >= kFirst && turn % 4 != 0) index = neighbour(turn);
    if (!index) index = next_random();
    if (index) done_[*index] = true;
    return index;
  }

  void report(std::size_t index, const Trial& trial) override {
    done_[index] = true;
    if (!trial.ok()) return;
    const std::pair leader(trial.measurement.median_us, index);
    leaders_.insert(std::upper_bound(leaders_.begin(), leaders_.end(), leader), leader);
    if (leaders_.size() > kLeaders) leaders_.pop_back();
  }

 private:
  // Those that are left of one leader's neighbours, the nearest last.
  using Neighbours = std::vector<std::size_t>;

  // Of the best leader in every other turn, else of the others in turn; of any that has one left.
  std::optional<std::size_t> neighbour(std::size_t turn) {
    if (leaders_.empty()) return std::nullopt;
    const std::size_t first = turn % 2 == 0 ? 0 : turn / 2 % leaders_.size();
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      Neighbours& left = neighbours(leaders_[(first + i) % leaders_.size()].second);
      while (!left.empty()) {
        const std::size_t index = left.back();
        left.pop_back();
        if (!done_[index]) return index;
      }
    }
    return std::nullopt;
  }

  Neighbours& neighbours(std::size_t leader) {
    const auto [place, is_new] = neighbours_.try_emplace(leader);
    if (is_new) place->second = find_neighbours(leader);
    return place->second;
  }

  Neighbours find_neighbours(std::size_t leader) {
    std::vector<Neighbours> by_distance(kMostDifferent + 1);
    // In the random order, so that equally near ones come in an order of the seed.
    for (const std::size_t index : order_) {
      if (done_[index]) continue;
      const std::size_t distance = difference(configurations_[leader], configurations_[index]);
      if (distance <= kMostDifferent) by_distance[distance].push_back(index);
    }
    Neighbours all;
    for (const Neighbours& some : by_distance) all.insert(all.end(), some.begin(), some.end());
    if (all.size() > kNeighbours) all.resize(kNeighbours);
    std::reverse(all.begin(), all.end());
    return all;
  }

  // Parameters that differ, counted up to one more than a neighbour may have.
  static std::size_t difference(const Configuration& a, const Configuration& b) {
    const auto& left = a.entries();
    const auto& right = b.entries();
    std::size_t count = 0;
    for (std::size_t i = 0; i < left.size() && count <= kMostDifferent; ++i) {
      if (left[i].second != right[i].second) ++count;
    }
    return count;
  }

  std::optional<std::size_t> next_random() {
    while (position_ < order_.size() && done_[order_[position_]]) ++position_;
    if (position_ == order_.size()) return std::nullopt;
    return order_[position_++];
  }

  const std::vector<Configuration>& configurations_;
  std::mt19937_64 generator_;
  std::vector<std::size_t> order_;
  std::vector<bool> done_;
  std::size_t position_ = 0;
  std::size_t turn_ = 0;
  std::vector<std::pair<double, std::size_t>> leaders_;  // the fastest first
  std::map<std::size_t, Neighbours> neighbours_;         // of whoever was a leader
};

}  // namespace

std::unique_ptr<SearchStrategy> make_local(const SearchSpace& space) {
  return std::make_unique<Local>(space);
}

}  // namespace autotune
