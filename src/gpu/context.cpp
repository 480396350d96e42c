#include "gpu/context.hpp"

#include <utility>

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

ContextGuard::ContextGuard(const PrimaryContext& context) : driver_(context.driver()) {
  driver_.check(driver_.api().cuCtxPushCurrent(context.handle()), "cuCtxPushCurrent");
}

ContextGuard::~ContextGuard() {
  CUcontext popped = nullptr;
  driver_.api().cuCtxPopCurrent(&popped);
}

}  // namespace autotune::gpu
