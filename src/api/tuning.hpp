// The searches of a Library, of which one is under way at a time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "autotune/autotune.hpp"

#include "api/log.hpp"
#include "api/result_source.hpp"
#include "core/device_info.hpp"
#include "select/portfolio.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// A request without problems, as the options of an application have it. Throws UsageError for what
// cannot be.
[[nodiscard]] TuneRequest tune_request(const TuningOptions& options);
// The request for products. Throws UsageError for what cannot be tuned.
[[nodiscard]] TuneRequest gemm_request(const std::vector<GemmProblem>& problems,
                                       const TuningOptions& options, bool use_shipped_winners);

[[nodiscard]] SearchSummary summary_of(const TuneReport& report);
// What a search found for a problem, or why there is no winner.
using Found = std::variant<Winner, std::string>;
[[nodiscard]] Found found_for(const TuneReport& report, const Problem& problem);
// A winner's part of an answer's explanation.
[[nodiscard]] std::string how_it_won(const Winner& winner);
[[nodiscard]] TuningResult tuning_result(const std::vector<GemmProblem>& problems,
                                         const TuneReport& report);

// Thread-safe.
class Tuning {
 public:
  // All references outlive this. Results that cannot be stored are kept in `results`.
  Tuning(const LibraryOptions& options, ResultSource& results, const Log& log)
      : options_(options), results_(results), log_(log) {}

  // Makes a search of an application, with the kernels of the portfolios and the functions of the
  // options. Throws EnvironmentError where it could find nothing.
  TuneReport tune(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                  const TuneRequest& request, const TuningOptions& options);

  // Tunes as a request says while the application uses the device: in worker processes, one of them
  // compiling, and for the share of the time that the options name. A request to stop ends it at
  // once.
  TuneReport tune_beside(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                         const TuneRequest& request, const std::stop_token& stop);

 private:
  TuneReport run(const TuneRequest& request, TunerSetup setup, const ProgressCallback& progress,
                 const std::stop_token& stop);

  const LibraryOptions& options_;
  ResultSource& results_;
  const Log& log_;
  std::mutex running_;
  std::atomic<std::thread::id> tuner_;  // the thread that tunes at the moment
};

}  // namespace autotune
