// Calls of this process into the driver, which may take long or never return.
#pragma once

#include <chrono>
#include <thread>

#include "gpu/gpu.hpp"

namespace autotune {

// Watches a call as long as the object lives. Says on standard error that the driver is waited for,
// and ends the program with exit code 3 if the driver does not answer at all: a thread that hangs
// in a driver can be ended in no other way. Workers have time limits of their own.
class DriverWatch {
 public:
  struct Patience {
    std::chrono::milliseconds before_words{2000};
    std::chrono::milliseconds before_end{30'000};  // the limit of workers that open a device
  };

  // Without memory for a thread the call is not watched.
  explicit DriverWatch(Patience patience);

 private:
  std::jthread thread_;  // ends with the call
};

// Returns what `call` returns, and watches it.
template <typename Call>
auto watched(Call call) {
  const DriverWatch watch(DriverWatch::Patience{});
  return call();
}

// inspect_driver(), watched.
[[nodiscard]] inline DriverReport driver_report() {
  return watched(inspect_driver);
}

}  // namespace autotune
