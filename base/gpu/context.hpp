// Contexts: the device's primary context, which the CUDA runtime and every library in the process
// use, and the context that an application has made current.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

 private:
  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CUctx_st* context_ = nullptr;
};

// Makes a context current for this thread, and at its end restores the previous one.
class ContextGuard {
 public:
  explicit ContextGuard(const PrimaryContext& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Driver& driver_;
};

// The contexts that an application calls from. Thread-safe.
class CallerContexts {
 public:
  // `ordinal`: the device of threads without a current context.
  CallerContexts(std::shared_ptr<const Driver> driver, int ordinal);

  // Lets this thread work in its current context. If it has none, the primary context is current
  // until the scope ends.
  class Scope {
   public:
    // Without `may_create` the primary context must have been current in another scope before, or
    // else nothing is.
    explicit Scope(const CallerContexts& contexts, bool may_create = true);
    // Identifies the context; the number is never used again for another one. 0: there is none.
    [[nodiscard]] std::uint64_t id() const { return id_; }

   private:
    std::optional<ContextGuard> primary_;
    std::uint64_t id_ = 0;
  };

 private:
  // The primary context is retained only when it is first needed, because retaining creates it if
  // the application has not done so.
  [[nodiscard]] const PrimaryContext& primary() const;

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  mutable std::mutex retaining_;
  mutable std::optional<PrimaryContext> primary_;
  mutable std::atomic<const PrimaryContext*> known_ = nullptr;  // found without a lock
};

// The id of this thread's current context.
[[nodiscard]] std::uint64_t current_context_id(const Driver& driver);
// The ordinal of the current context's device; nullopt in a thread without a context.
[[nodiscard]] std::optional<int> current_device(const Driver& driver);

// Calls `use` with the id of a device's primary context while that is current, if anyone retains
// it, and does nothing otherwise. For what is to be freed in it, so it throws nothing.
void in_living_primary_context(const std::shared_ptr<const Driver>& driver, int ordinal,
                               const std::function<void(std::uint64_t id)>& use) noexcept;

}  // namespace autotune::gpu
