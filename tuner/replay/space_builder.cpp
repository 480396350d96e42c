#include "tuner/replay/space_builder.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace autotune {

void SpaceBuilder::add(const RecordedResult& result) {
  if (!begun_) {
    begun_ = true;
    space_.problem = result.problem;
    space_.template_name = result.template_name;
    space_.device = result.device;
    for (const std::string& name : result.configuration.names()) {
      if (!columns_.try_emplace(name, names_.size()).second) continue;
      names_.push_back(name);
      values_.emplace_back();
    }
  }
  if (lacks_.empty()) lacks_ = result.lacks;
  if (!add_row(result.configuration)) {
    parameters_differ_ = true;
    return;
  }
  const bool ran = result.status != TrialStatus::ok || result.cost;
  space_.outcomes.push_back(
      {ran ? result.status : TrialStatus::launch_failed, result.cost.value_or(0)});
}

bool SpaceBuilder::add_row(const RecordedConfiguration& configuration) {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  const std::size_t begin = rows_.size();
  rows_.resize(begin + width(), kNone);
  bool fits = true;
  for (std::size_t i = 0; i < configuration.names().size() && fits; ++i) {
    const auto column = columns_.find(configuration.names()[i]);
    fits = column != columns_.end();
    if (fits) {
      rows_[begin + column->second] = values_[column->second].add(configuration.values()[i]);
    }
  }
  fits = fits && std::ranges::find(rows_.begin() + static_cast<std::ptrdiff_t>(begin), rows_.end(),
                                   kNone) == rows_.end();
  if (!fits) rows_.resize(begin);
  return fits;
}

std::vector<std::uint32_t> SpaceBuilder::chosen_rows() const {
  const auto row = [&](std::uint32_t i) { return std::span(rows_).subspan(i * width(), width()); };
  std::vector<std::uint32_t> order(space_.outcomes.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const auto left = row(a);
    const auto right = row(b);
    const auto [x, y] = std::ranges::mismatch(left, right);
    return x == left.end() ? a < b : *x < *y;
  });
  // One of equal rows, in the place of the first.
  // This program measures again where something has changed, others for other reasons: KTT measures
  // again to read counters, which takes longer.
  const bool is_last_chosen = space_.problem.has_value();
  std::vector<std::uint32_t> chosen(order.size());
  std::vector<bool> is_first(order.size());
  for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
    if (i > 0 && !std::ranges::equal(row(order[i - 1]), row(order[i]))) first = i;
    is_first[order[first]] = true;
    if (is_last_chosen || i == first) chosen[order[first]] = order[i];
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (is_first[i]) chosen[count++] = chosen[i];
  }
  chosen.resize(count);
  return chosen;
}

RecordedSpace SpaceBuilder::take() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    space_.ranked.emplace(names_[i], values_[i].ranked());
  }
  const auto names = std::make_shared<const Configuration::Names>(std::move(names_));
  std::vector<std::vector<std::int64_t>> numbers;
  for (const ParameterValues& values : values_) numbers.push_back(values.numbers());
  const std::vector<std::uint32_t> rows = chosen_rows();
  const std::vector<RecordedSpace::Outcome> outcomes = std::exchange(space_.outcomes, {});
  space_.outcomes.reserve(rows.size());
  space_.configurations.reserve(rows.size());
  for (const std::uint32_t row : rows) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values.push_back(numbers[i][rows_[row * numbers.size() + i]]);
    }
    space_.configurations.emplace_back(names, std::move(values));
    const RecordedSpace::Outcome& outcome = space_.outcomes.emplace_back(outcomes[row]);
    if (outcome.status != TrialStatus::ok) continue;
    space_.best_us = space_.correct++ == 0 ? outcome.us : std::min(space_.best_us, outcome.us);
  }
  return std::move(space_);
}

}  // namespace autotune
