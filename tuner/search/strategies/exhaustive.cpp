// Every configuration, in the order of the space.
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

class Exhaustive : public SearchStrategy {
 public:
  explicit Exhaustive(const SearchSpace& space) : done_(space.configurations->size()) {}

  std::optional<std::size_t> next() override {
    while (position_ < done_.size() && done_[position_]) ++position_;
    if (position_ == done_.size()) return std::nullopt;
    return position_++;
  }

  void report(std::size_t index, const Trial&) override { done_[index] = true; }

 private:
  std::vector<bool> done_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_exhaustive(const SearchSpace& space) {
  return std::make_unique<Exhaustive>(space);
}

}  // namespace autotune
