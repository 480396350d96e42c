// MissPolicy::background: tunes what an application calls, in the order of the first calls.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "api/log.hpp"
#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "core/winner.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tuner/run/report.hpp"
#include "tuner/run/request.hpp"

namespace autotune {

// A product that was called and runs with a kernel that is not known to be the best.
struct Untuned {
  DeviceInfo device;
  Problem problem;
  Winner in_use;  // its configuration; for a stale winner with the time that it had
  bool is_stale = false;
};

// The means of background tuning.
struct BackgroundWork {
  const KernelSet& kernels;  // that candidates are of
  // Makes a search. Ends at once when a stop is requested.
  std::function<TuneReport(const DeviceInfo&, const TuneRequest&, const std::stop_token&)> tune;
  // From then on calls for the problem run with the best that is known.
  std::function<void(const DeviceInfo&, const Problem&)> use;
  double budget_s = 10;             // of a search
  bool use_shipped_winners = true;  // as warm starts
};

// Has a thread of its own from the first product on. Thread-safe.
class BackgroundTuner {
 public:
  // `log` outlives this.
  BackgroundTuner(BackgroundWork work, const Log& log) : work_(std::move(work)), log_(log) {}
  ~BackgroundTuner() { stop(); }
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  // Each problem of a device class is tuned once.
  void add(Untuned product);
  // Ends the search under way and the thread. Nothing is tuned from then on.
  void stop();

  // Ends the search under way, which is made again when no pause is left.
  class Pause {
   public:
    explicit Pause(BackgroundTuner* tuner);  // nullptr: does nothing
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    BackgroundTuner* tuner_;
  };

 private:
  void work(const std::stop_token& closing);
  [[nodiscard]] std::string text_of(const Problem& problem) const {
    return work_.kernels.operation_for(problem).text(problem);
  }
  // Returns false when it was stopped before its end.
  bool tune(const Untuned& product, const std::stop_token& stop);
  // Times a stale winner again. Returns whether it takes as long as it did.
  bool holds(const Untuned& product, const std::stop_token& stop);
  [[nodiscard]] TuneRequest request_for(const Untuned& product) const;

  BackgroundWork work_;
  const Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::pair<std::string, Problem>> seen_;
  std::deque<std::unique_ptr<const Untuned>> queue_;  // the first is being tuned
  std::stop_source running_;
  int pauses_ = 0;
  bool is_closed_ = false;
  std::jthread thread_;
};

}  // namespace autotune
