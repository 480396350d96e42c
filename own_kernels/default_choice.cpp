#include "own_kernels/default_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "own_kernels/described_launch.hpp"

namespace autotune {
namespace {

class DefaultSearch {
 public:
  DefaultSearch(DescribedKernel& kernel, bool is_launched)
      : kernel_(kernel),
        is_launched_(is_launched),
        problem_(kernel.key, {}, {}),
        decided_(kernel.parameters.size() + 1) {
    for (const DescribedRestriction& each : kernel.restrictions) {
      const std::vector<std::size_t>& variables = each.holds.variables();
      decided_[variables.empty() ? 0 : variables.back() + 1].push_back(&each.holds);
    }
  }

  // Whether the values from the parameter on can be chosen so that all is valid. The values before
  // it are chosen.
  bool choose(std::size_t parameter) {
    constexpr std::size_t kMostTries = 1'000'000;
    if (++tries_ > kMostTries || !holds(parameter)) return false;
    if (parameter == kernel_.parameters.size()) {
      return !is_launched_ || fits(kernel_, default_of(kernel_), problem_);
    }
    const std::int64_t usual = kernel_.defaults[parameter];
    if (choose(parameter + 1)) return true;
    for (const std::int64_t value : kernel_.parameters[parameter].values) {
      if (value == usual) continue;
      kernel_.defaults[parameter] = value;
      if (choose(parameter + 1)) return true;
    }
    kernel_.defaults[parameter] = usual;
    return false;
  }

 private:
  // Whether the restrictions hold that the last of the first `count` parameters decides.
  [[nodiscard]] bool holds(std::size_t count) const {
    return std::ranges::all_of(
        decided_[count], [this](const Expression* each) { return each->truth(kernel_.defaults); });
  }

  DescribedKernel& kernel_;
  bool is_launched_;
  Problem problem_;
  std::vector<std::vector<const Expression*>> decided_;  // by the number of parameters
  std::size_t tries_ = 0;
};

}  // namespace

void choose_defaults(DescribedKernel& kernel) {
  if (DefaultSearch(kernel, true).choose(0)) return;
  // What keeps it from being launched is refused with the problem, by its cause.
  if (DefaultSearch(kernel, false).choose(0)) return;
  kernel.restrictions.front().holds.refuse(
      "no configuration was found that meets all conditions: give each parameter a Default");
}

}  // namespace autotune
