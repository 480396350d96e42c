// The answer to the question which kernel computes a problem on a device. Library::gemm(), query,
// run, bench, show, export and bundles all ask here.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "autotune/match_kind.hpp"

#include "core/problem.hpp"
#include "select/lookup.hpp"
#include "select/predictor.hpp"

namespace autotune {

// A kernel for a problem, with what speaks for it: a stored result, or a prediction.
struct Choice {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Problem problem;  // as it is computed: with the math that was asked for, or a stricter one
  std::variant<Match, Prediction> evidence;

  [[nodiscard]] const Match* stored() const { return std::get_if<Match>(&evidence); }
  [[nodiscard]] const Prediction* predicted() const { return std::get_if<Prediction>(&evidence); }
  // Returns whether it was measured for the very problem.
  [[nodiscard]] bool is_measured() const;
  // Microseconds, measured for the problem or predicted; 0 for the result of another size.
  [[nodiscard]] double time_us() const;
  [[nodiscard]] MatchKind match() const;
  [[nodiscard]] std::string explanation() const;  // one line
};

struct ChoiceQuery {
  Problem problem;                         // matrices are row-major
  const ResultReader* database = nullptr;  // may be null
  DeviceQuery device;                      // whose results count
  const ShippedPortfolios& portfolios;     // of the device query's kernels
  PredictedDevice limits = {};             // of that device; without a model nothing is predicted
  bool aligned = false;                    // the operands are, as CodeTraits has it
  bool only_measured = false;              // nothing but results of exactly this problem
  // Accepts a kernel for a problem as it is computed; without it all are accepted.
  std::function<bool(const KernelTemplate&, const Configuration&, const Problem&)> serves = {};
  std::size_t most = std::numeric_limits<std::size_t>::max();  // predictions to return
};

// The known kernels for a problem, the best first. A result for exactly this problem counts with
// its measured time, whatever stricter math it was measured for: a weaker requirement never gets a
// slower known kernel. Predictions are made of matrix multiplications where no search of the math
// itself came to its end; one goes before a result that it promises to beat by more than its error.
// The result for the nearest size is the answer where neither exists. Empty where nothing is known.
[[nodiscard]] std::vector<Choice> choices(const ChoiceQuery& query);

// The limits of a device that only its name or class tells, by what is known of it.
[[nodiscard]] PredictedDevice limits_of(const ResultReader* database, const DeviceQuery& device);

}  // namespace autotune
