// The CUDA driver, opened at run time: neither the program nor the library links libcuda.
#pragma once

#include <memory>
#include <string>

#include "autotune/error.hpp"

namespace autotune::gpu {

struct DriverApi;  // the function table, gpu/driver_api.hpp

// This machine has no usable GPU: it has no driver, a stub in its place, or no device.
class NoGpuError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// Returns whether the process must be terminated and relaunched after this error code (see cuda.h).
[[nodiscard]] bool poisons_process(int code);
// Returns whether this is CUDA_ERROR_OUT_OF_MEMORY.
[[nodiscard]] bool is_out_of_memory(int code);

// A driver call failed.
class DriverError : public Error {
 public:
  DriverError(int cuda_result, const std::string& message)
      : Error(message, is_out_of_memory(cuda_result) ? ErrorCode::no_memory : ErrorCode::device,
              cuda_result) {}
};

// Immutable and thread-safe; all other objects of this module keep a reference to one and must not
// outlive it.
class Driver {
 public:
  // Opens libcuda.so.1 (or the file that AUTOTUNE_LIBCUDA names) and initialises it. Throws
  // EnvironmentError with a message of one line if there is no driver, only the toolkit's stub, a
  // driver older than CUDA 12.0, or no usable GPU.
  static std::shared_ptr<const Driver> open();
  ~Driver();

  [[nodiscard]] const DriverApi& api() const { return *api_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // 13000 for CUDA 13.0.
  [[nodiscard]] int cuda_version() const { return cuda_version_; }
  [[nodiscard]] int device_count() const;

  // Throws DriverError that names the call and the code when `code` is not success.
  void check(int code, const char* call) const;
  // Returns "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  [[nodiscard]] std::string describe(int code) const;

 private:
  Driver();
  std::unique_ptr<const DriverApi> api_;
  std::string path_;
  int cuda_version_ = 0;
};

}  // namespace autotune::gpu
