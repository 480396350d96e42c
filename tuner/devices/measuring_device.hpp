// The devices that kernels are measured on, and their use.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "core/device_info.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

// A device that is reserved as long as `held` is kept.
struct Reservation {
  std::shared_ptr<void> held;
  std::chrono::steady_clock::duration waited{};  // for other programs to release the device
};

// A device that kernels are measured on.
struct MeasuringDevice {
  DeviceInfo info;
  WorkerFactory make_worker;
  // Reserves the device, in the thread that will use it. It may wait until other programs release
  // the device, or until asked to stop. If it throws, the device has failed. The function may be
  // empty.
  std::function<Reservation(const std::stop_token&)> reserve;
  // The largest part of the device's time that measuring takes, above 0. Below 1 other programs are
  // at work on it: a request to stop then ends the measurement under way.
  double share = 1;

  [[nodiscard]] bool is_shared() const { return share < 1; }
};

// The use of a device in a tuning run.
struct DeviceUse {
  DeviceInfo device;
  double busy_s = 0;  // time of its measuring worker in jobs; in a report: during the search
  int workers_replaced = 0;
  std::int64_t duplicate_kernels = 0;
  std::string failure;  // why it was given up; empty when it was in order
};

}  // namespace autotune
