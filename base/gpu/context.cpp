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

ContextGuard::ContextGuard(const PrimaryContext& context) : driver_(context.driver()) {
  driver_.check(driver_.api().cuCtxPushCurrent(context.handle()), "cuCtxPushCurrent");
}

ContextGuard::~ContextGuard() {
  CUcontext popped = nullptr;
  driver_.api().cuCtxPopCurrent(&popped);
}

CallerContexts::CallerContexts(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)), ordinal_(ordinal) {}

const PrimaryContext& CallerContexts::primary() const {
  if (const PrimaryContext* const known = known_.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(retaining_);
  if (!primary_) primary_.emplace(driver_, ordinal_);
  known_.store(&*primary_, std::memory_order_release);
  return *primary_;
}

CallerContexts::Scope::Scope(const CallerContexts& contexts, bool may_create) {
  const Driver& driver = *contexts.driver_;
  CUcontext current = nullptr;
  driver.check(driver.api().cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == nullptr && !may_create && contexts.known_ == nullptr) return;
  if (current == nullptr) primary_.emplace(contexts.primary());
  id_ = current_context_id(driver);
}

std::optional<int> current_device(const Driver& driver) {
  CUcontext current = nullptr;
  driver.check(driver.api().cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == nullptr) return std::nullopt;
  CUdevice device = 0;
  driver.check(driver.api().cuCtxGetDevice(&device), "cuCtxGetDevice");
  for (int ordinal = 0; ordinal < driver.device_count(); ++ordinal) {
    CUdevice handle = 0;
    driver.check(driver.api().cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    if (handle == device) return ordinal;
  }
  throw DriverError(CUDA_ERROR_INVALID_DEVICE, "the current context's device is not listed");
}

void in_living_primary_context(const std::shared_ptr<const Driver>& driver, int ordinal,
                               const std::function<void(std::uint64_t id)>& use) noexcept try {
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 0;
  driver->check(driver->api().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  driver->check(driver->api().cuDevicePrimaryCtxGetState(device, &flags, &active),
                "cuDevicePrimaryCtxGetState");
  if (active == 0) return;
  const PrimaryContext primary(driver, ordinal);
  const ContextGuard guard(primary);
  use(current_context_id(*driver));
} catch (const DriverError&) {
  // Then nothing can be freed.
}

std::uint64_t current_context_id(const Driver& driver) {
  unsigned long long id = 0;
  driver.check(driver.api().cuCtxGetId(nullptr, &id), "cuCtxGetId");
  return id;
}

}  // namespace autotune::gpu
