// The portfolios that ship with the program: for a device class and a math a small set of
// configurations, one of which is good for almost any shape, and how their times differ from the
// cost model's. db/portfolio/*.jsonl, embedded at build time; benchmarks/prediction/portfolio.py
// makes them (docs/prediction.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/kernel_template.hpp"
#include "prediction/shape_kernel.hpp"

namespace autotune {

// The correction of a configuration's modelled time: log(microseconds / cycles) of a shape is
// `mean` and for each centre its weight times its likeness to the shape.
struct Correction {
  double mean = 0;
  double error = 0;             // standard deviation at shapes that it was not fitted to
  std::vector<double> weights;  // one for each centre of the portfolio
};

struct PortfolioEntry {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Correction correction;
};

struct Portfolio {
  std::string device_class;
  std::string device_label;
  Math math = Math::strict;
  ShapeFeatures scales = {};           // of likeness()
  std::vector<ShapeFeatures> centres;  // the shapes that were measured
  std::vector<PortfolioEntry> entries;
  // For configurations that are not in the portfolio, of each template that was measured.
  struct TemplateCorrection {
    const KernelTemplate* kernel = nullptr;
    Correction correction;
  };
  std::vector<TemplateCorrection> templates;
};

// Reads a portfolio: a line for the device with the scales, one with the centres, one for each
// entry with its weights as the last member, and one without a configuration for each template that
// was measured and has no entry.
// Entries of templates that are gone or whose space has changed are left out. Throws Error for a
// text of another form.
[[nodiscard]] Portfolio parse_portfolio(std::string_view text);

// The portfolios for a math that ship, parsed when this is first called for it. Thread-safe.
[[nodiscard]] const std::vector<Portfolio>& shipped_portfolios(Math math);

}  // namespace autotune
