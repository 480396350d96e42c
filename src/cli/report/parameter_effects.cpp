#include "cli/report/parameter_effects.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace autotune {
namespace {

// No template has as many values, but a stored trial may have any.
constexpr std::size_t kMaxValues = 64;

// A correct trial of one template.
struct Sample {
  double part = 0;      // of the best rate at its size
  double log_time = 0;  // less the mean of its size
  std::uint32_t place = 0;
};

// The samples of one template, size by size.
struct Samples {
  std::vector<Sample> all;
  std::vector<std::size_t> ends;  // of each size
};

Samples samples_of(const ReportData& report, std::uint32_t space) {
  Samples samples;
  for (const ReportSize& size : report.sizes) {
    const std::size_t begin = samples.all.size();
    double least = INFINITY;
    double sum = 0;
    for (const ReportTrial& trial : size.trials) {
      if (trial.space != space || !trial.ok()) continue;
      least = std::min(least, trial.median_us);
      sum += std::log(trial.median_us);
      samples.all.push_back({trial.median_us, std::log(trial.median_us), trial.place});
    }
    const double mean = sum / static_cast<double>(samples.all.size() - begin);
    for (std::size_t i = begin; i < samples.all.size(); ++i) {
      samples.all[i].part = least / samples.all[i].part;
      samples.all[i].log_time -= mean;
    }
    samples.ends.push_back(samples.all.size());
  }
  return samples;
}

class Parameter {
 public:
  Parameter(const ReportSpace& space, std::size_t index) : space_(space), index_(index) {
    const std::size_t width = space.parameters.size();
    std::set<std::int64_t> values;
    for (std::size_t at = index; at < space.values.size(); at += width) {
      values.insert(space.values[at]);
    }
    values_.assign(values.begin(), values.end());
  }

  [[nodiscard]] const std::vector<std::int64_t>& values() const { return values_; }
  [[nodiscard]] std::size_t number_of(std::uint32_t place) const {
    const std::int64_t value = space_.value(place, index_);
    return static_cast<std::size_t>(std::lower_bound(values_.begin(), values_.end(), value) -
                                    values_.begin());
  }

 private:
  const ReportSpace& space_;
  std::size_t index_;
  std::vector<std::int64_t> values_;  // in rising order
};

// Explained sum of squares over the total one.
double importance_of(const Parameter& parameter, const Samples& samples) {
  double explained = 0;
  double total = 0;
  std::size_t begin = 0;
  for (const std::size_t end : samples.ends) {
    std::vector<double> sums(parameter.values().size());
    std::vector<double> counts(parameter.values().size());
    for (; begin < end; ++begin) {
      const Sample& sample = samples.all[begin];
      const std::size_t number = parameter.number_of(sample.place);
      sums[number] += sample.log_time;
      counts[number] += 1;
      total += sample.log_time * sample.log_time;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (counts[i] > 0) explained += sums[i] * sums[i] / counts[i];
    }
  }
  return total > 0 ? explained / total : 0;
}

// `by_rate` are the samples, the slowest first.
std::vector<ValueEffect> values_of(const Parameter& parameter, const std::vector<Sample>& by_rate,
                                   const std::vector<std::size_t>& trials) {
  std::vector<ValueEffect> effects(parameter.values().size());
  for (const Sample& sample : by_rate) ++effects[parameter.number_of(sample.place)].correct;
  std::vector<std::size_t> seen(effects.size());
  for (const Sample& sample : by_rate) {
    const std::size_t number = parameter.number_of(sample.place);
    ValueEffect& effect = effects[number];
    const std::size_t last = effect.correct - 1;
    const std::size_t rank = seen[number]++;
    if (rank == last / 4) effect.lower_quartile = sample.part;
    if (rank == last / 2) effect.median = sample.part;
    if (rank == last * 3 / 4) effect.upper_quartile = sample.part;
    effect.best = sample.part;
  }
  for (std::size_t i = 0; i < effects.size(); ++i) {
    effects[i].value = parameter.values()[i];
    effects[i].trials = trials[i];
  }
  return effects;
}

TemplateEffects effects_of(const ReportData& report, std::uint32_t space_number) {
  const ReportSpace& space = report.spaces[space_number];
  Samples samples = samples_of(report, space_number);
  TemplateEffects effects{.template_name = space.template_name, .correct = samples.all.size()};
  const std::size_t width = space.parameters.size();
  effects.trials = width > 0 ? space.values.size() / width : 0;
  std::vector<Sample> by_rate = samples.all;
  std::ranges::sort(by_rate, [](const Sample& a, const Sample& b) { return a.part < b.part; });
  for (std::size_t i = 0; i < width; ++i) {
    const Parameter parameter(space, i);
    if (parameter.values().size() > kMaxValues) continue;
    std::vector<std::size_t> trials(parameter.values().size());
    for (std::uint32_t place = 0; place < effects.trials; ++place) {
      ++trials[parameter.number_of(place)];
    }
    effects.parameters.push_back({.name = space.parameters[i],
                                  .importance = importance_of(parameter, samples),
                                  .values = values_of(parameter, by_rate, trials)});
  }
  std::ranges::stable_sort(effects.parameters,
                           [](const ParameterEffect& a, const ParameterEffect& b) {
                             return a.importance > b.importance;
                           });
  return effects;
}

}  // namespace

std::vector<TemplateEffects> parameter_effects(const ReportData& report) {
  std::vector<TemplateEffects> effects;
  for (std::uint32_t space = 0; space < report.spaces.size(); ++space) {
    effects.push_back(effects_of(report, space));
  }
  return effects;
}

}  // namespace autotune
