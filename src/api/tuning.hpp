// The searches of a Library, of which one is under way at a time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "autotune/autotune.hpp"

#include "api/log.hpp"
#include "api/result_source.hpp"
#include "core/device_info.hpp"
#include "select/portfolio.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// Thread-safe.
class Tuning {
 public:
  // All references outlive this. Results that cannot be stored are kept in `results`.
  Tuning(const ShippedPortfolios& portfolios, const LibraryOptions& options, ResultSource& results,
         const Log& log)
      : portfolios_(portfolios), options_(options), results_(results), log_(log) {}

  // As Library::tune().
  TuningResult tune(const DeviceInfo& device, const std::vector<GemmProblem>& problems,
                    const TuningOptions& options);

  // Tunes as a request says while the application uses the device: in worker processes, one of them
  // compiling, and for the share of the time that the options name. A request to stop ends it at
  // once.
  TuneReport tune_beside(const DeviceInfo& device, const TuneRequest& request,
                         const std::stop_token& stop);

 private:
  TuneReport run(const TuneRequest& request, TunerSetup setup, const ProgressCallback& progress,
                 const std::stop_token& stop);

  const ShippedPortfolios& portfolios_;
  const LibraryOptions& options_;
  ResultSource& results_;
  const Log& log_;
  std::mutex running_;
  std::atomic<std::thread::id> tuner_;  // the thread that tunes at the moment
};

}  // namespace autotune
