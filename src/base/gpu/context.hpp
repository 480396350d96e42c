// Contexts: the device's primary one, which the CUDA runtime and every library in the process use,
// and whichever an application has made current.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "gpu/driver.hpp"

struct CUctx_st;

namespace autotune::gpu {

// Keeps the primary context of a device alive. It is never reset and its limits and flags are never
// changed: it may be the application's.
class PrimaryContext {
 public:
  PrimaryContext(std::shared_ptr<const Driver> driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] CUctx_st* handle() const { return context_; }

  // Returns whether anyone retains the primary context, without retaining it.
  [[nodiscard]] static bool is_active(const Driver& driver, int ordinal);

 private:
  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CUctx_st* context_ = nullptr;
};

// Makes a context current for this thread, and at its end the one that was current before.
class ContextGuard {
 public:
  explicit ContextGuard(const PrimaryContext& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Driver& driver_;
};

// The contexts of one device that an application may call from. Thread-safe.
class DeviceContexts {
 public:
  DeviceContexts(std::shared_ptr<const Driver> driver, int ordinal);

  // Lets this thread work in its current context, or where it has none in the primary one, which
  // is current until the scope ends.
  class Scope {
   public:
    // Throws UsageError when the current context belongs to another device.
    explicit Scope(const DeviceContexts& contexts);
    // Which context: never used again for another one.
    [[nodiscard]] std::uint64_t id() const { return id_; }

   private:
    std::optional<ContextGuard> primary_;
    std::uint64_t id_ = 0;
  };

 private:
  // Retained when it is first needed, since that makes it where the application has none.
  [[nodiscard]] const PrimaryContext& primary() const;

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  int device_ = 0;
  mutable std::once_flag once_;
  mutable std::optional<PrimaryContext> primary_;
};

// The id of this thread's current context.
[[nodiscard]] std::uint64_t current_context_id(const Driver& driver);

}  // namespace autotune::gpu
