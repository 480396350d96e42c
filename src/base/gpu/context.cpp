#include "gpu/context.hpp"

#include <utility>

#include <fmt/format.h>

#include "gpu/driver_api.hpp"

namespace autotune::gpu {

PrimaryContext::PrimaryContext(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)) {
  const DriverApi& api = driver_->api();
  driver_->check(api.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  driver_->check(api.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

PrimaryContext::~PrimaryContext() {
  driver_->api().cuDevicePrimaryCtxRelease(device_);
}

bool PrimaryContext::is_active(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 0;
  driver.check(driver.api().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  driver.check(driver.api().cuDevicePrimaryCtxGetState(device, &flags, &active),
               "cuDevicePrimaryCtxGetState");
  return active != 0;
}

ContextGuard::ContextGuard(const PrimaryContext& context) : driver_(context.driver()) {
  driver_.check(driver_.api().cuCtxPushCurrent(context.handle()), "cuCtxPushCurrent");
}

ContextGuard::~ContextGuard() {
  CUcontext popped = nullptr;
  driver_.api().cuCtxPopCurrent(&popped);
}

DeviceContexts::DeviceContexts(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)), ordinal_(ordinal) {
  driver_->check(driver_->api().cuDeviceGet(&device_, ordinal), "cuDeviceGet");
}

const PrimaryContext& DeviceContexts::primary() const {
  std::call_once(once_, [this] { primary_.emplace(driver_, ordinal_); });
  return *primary_;
}

DeviceContexts::Scope::Scope(const DeviceContexts& contexts) {
  const Driver& driver = *contexts.driver_;
  CUcontext current = nullptr;
  driver.check(driver.api().cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == nullptr) {
    primary_.emplace(contexts.primary());
  } else {
    CUdevice device = 0;
    driver.check(driver.api().cuCtxGetDevice(&device), "cuCtxGetDevice");
    if (device != contexts.device_) {
      throw UsageError(fmt::format(
          "the thread's current CUDA context belongs to GPU {}, but this Autotuner to GPU {}",
          device, contexts.ordinal_));
    }
  }
  id_ = current_context_id(driver);
}

std::uint64_t current_context_id(const Driver& driver) {
  unsigned long long id = 0;
  driver.check(driver.api().cuCtxGetId(nullptr, &id), "cuCtxGetId");
  return id;
}

}  // namespace autotune::gpu
