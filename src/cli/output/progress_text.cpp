#include "cli/output/progress_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/gemm_output.hpp"

namespace autotune {
namespace {

constexpr std::size_t kWide = 79;  // a terminal of 80 columns, less one

struct Parts {
  double trials = 0;
  double time = 0;
};

Parts parts_of(const TuneProgress& progress) {
  Parts parts;
  if (progress.total > 0) {
    parts.trials = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  }
  const double all_s = progress.elapsed_s + progress.remaining_s.value_or(0);
  if (progress.remaining_s && all_s > 0) parts.time = progress.elapsed_s / all_s;
  return parts;
}

std::string bar(double part, std::size_t width) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

// The best of each size, whichever template it is from.
std::vector<TuneProgress::Best> best_of_sizes(const TuneProgress& progress) {
  std::vector<TuneProgress::Best> all;
  for (const TuneProgress::Best& best : progress.best) {
    const auto known = std::ranges::find(all, best.problem, &TuneProgress::Best::problem);
    if (known == all.end()) {
      all.push_back(best);
    } else {
      known->gflops = std::max(known->gflops, best.gflops);
    }
  }
  return all;
}

// As many sizes as fit, and how many more there are: "1024 48.1, 2048 53.2, +1 TFLOP/s".
std::string rates_text(const TuneProgress& progress, std::size_t columns) {
  const std::vector<TuneProgress::Best> rates = best_of_sizes(progress);
  double largest = 0;
  for (const TuneProgress::Best& rate : rates) largest = std::max(largest, rate.gflops);
  const bool large = largest >= 1000;
  std::string text;
  std::string fitting;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    text += fmt::format("{}{} {:.1f}", i == 0 ? "" : ", ", short_size_text(rates[i].problem),
                        rates[i].gflops * (large ? 1e-3 : 1));
    const std::size_t more = rates.size() - i - 1;
    const std::string whole =
        text + (more > 0 ? fmt::format(", +{}", more) : "") + (large ? " TFLOP/s" : " GFLOP/s");
    if (whole.size() <= columns) fitting = whole;
  }
  return fitting;
}

}  // namespace

std::string progress_text(const TuneProgress& progress, std::size_t columns) {
  const Parts parts = parts_of(progress);
  const bool is_wide = columns >= kWide;
  std::string line = fmt::format("{} {}", progress.phase,
                                 bar(std::max(parts.trials, parts.time), is_wide ? 24 : 8));
  const auto append = [&](const std::string& part) {
    if (!part.empty() && line.size() + 2 + part.size() <= columns) line += "  " + part;
  };
  if (progress.remaining_s) {
    append(fmt::format("{:.0f} s left", *progress.remaining_s));
  }
  append(rates_text(progress, columns - std::min(columns, line.size() + 2)));
  std::string counts = parts.time > parts.trials
                           ? fmt::format("{} tried", progress.done)
                           : fmt::format("{}/{}", progress.done, progress.total);
  if (progress.failures > 0) counts += fmt::format(", {} failed", progress.failures);
  append(counts);
  return line.substr(0, columns);
}

}  // namespace autotune
