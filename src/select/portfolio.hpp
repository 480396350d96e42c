// The portfolios that ship with the program: for a device class and a math a small set of
// configurations, one of which is good for almost any shape, and how the times of configurations
// differ from the cost model's. db/portfolio/*.jsonl, embedded at build time;
// benchmarks/prediction/portfolio.py makes them (docs/prediction.md).
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"
#include "select/candidate_features.hpp"
#include "select/correction_trees.hpp"

namespace autotune {

struct PortfolioEntry {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
};

struct Portfolio {
  std::reference_wrapper<const KernelSet> kernels;  // that candidates are of
  std::string device_class;
  std::string device_label;
  Math math = Math::strict;
  GemmTypes types;
  CorrectionTrees trees;
  CandidateFeatures features;  // those that the trees ask for
  // log2 of the least and the greatest m, n and k that were measured.
  std::array<std::array<double, 2>, 3> measured = {};
  // The templates that were measured, with the standard deviation of the logarithm of their times
  // from those predicted for shapes that the trees were not fitted to.
  std::map<const KernelTemplate*, double> errors;
  std::vector<PortfolioEntry> entries;
};

// Reads a portfolio: a line for the device, one with the trees, one for each entry. Entries and
// errors of templates that `kernels` lack or whose space has changed are left out. Throws Error for
// a text of another form.
[[nodiscard]] Portfolio parse_portfolio(std::string_view text, const KernelSet& kernels);

// The portfolios that ship, as they hold for a set of kernels. Thread-safe.
class ShippedPortfolios {
 public:
  // `kernels` outlives this.
  explicit ShippedPortfolios(const KernelSet& kernels) : kernels_(kernels) {}

  [[nodiscard]] const KernelSet& kernels() const { return kernels_; }
  // Those for a math, parsed when this is first called for it.
  [[nodiscard]] const std::vector<Portfolio>& of(Math math) const;

 private:
  const KernelSet& kernels_;
  mutable std::mutex mutex_;
  mutable std::map<Math, std::vector<Portfolio>> parsed_;
};

}  // namespace autotune
