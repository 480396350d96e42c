// The device's primary context: the one that the CUDA runtime and every library in the process use.
#pragma once

#include <memory>

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

}  // namespace autotune::gpu
