// A device that kernels are measured on, and what it did.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "core/device_info.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

// A device that kernels are measured on.
struct MeasuringDevice {
  DeviceInfo info;
  WorkerFactory make_worker;
  // Called before the device is used, in the thread that will use it. May wait for others who use
  // it, until asked to stop. What it gives is kept as long as the device is needed. May be empty.
  std::function<std::shared_ptr<void>(const std::stop_token&)> reserve;
};

// What a device did in a call.
struct DeviceUse {
  DeviceInfo device;
  double busy_s = 0;  // its measuring worker was at a job; in a report: during the search
  int workers_replaced = 0;
  std::int64_t duplicate_kernels = 0;
  std::string failure;  // why the others had to do without it; empty when it was in order
};

}  // namespace autotune
