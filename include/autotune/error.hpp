// The exceptions that autotune throws. One family: catch autotune::Error for all of them. Others
// are std::bad_alloc, when the process has no memory left, and what a progress function of the
// application throws.
//
// Exceptions are for faults. Outcomes that a tuner expects (a candidate that does not compile, a
// kernel that returns wrong numbers, a size that was not tuned) are values, never exceptions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "autotune/export.hpp"

namespace autotune {

enum class ErrorCode : std::uint8_t {
  usage = 1,        // the call is wrong
  environment = 2,  // something outside is absent or unfit
  storage = 3,      // the database cannot be used
  not_tuned = 4,    // a product that was not tuned is refused
  no_memory = 5,    // the device has no memory left
  device = 6,       // any other fault that the driver reports
  internal = 7,     // all else: a fault of this library
};

class AUTOTUNE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorCode code = ErrorCode::internal,
                 int cuda_result = 0)
      : std::runtime_error(message), code_(code), cuda_result_(cuda_result) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  // The driver's CUresult; 0 where no call of the driver failed.
  [[nodiscard]] int cuda_result() const noexcept { return cuda_result_; }

 private:
  ErrorCode code_;
  int cuda_result_;
};

// The request itself is wrong: a size that is not a number, a parameter value outside its set, an
// empty search space. Nothing was asked of a device and nothing was stored.
class AUTOTUNE_API UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, ErrorCode::usage) {}
};

// Something outside the program is absent or unfit: no driver, no GPU, no NVRTC, a problem larger
// than the device's memory.
class AUTOTUNE_API EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(message, ErrorCode::environment) {}
};

// The database could not be opened, read or written. What was in it is untouched.
class AUTOTUNE_API StorageError : public Error {
 public:
  explicit StorageError(const std::string& message) : Error(message, ErrorCode::storage) {}
};

// The product was not tuned on this kind of device, and MissPolicy::refuse was asked for.
class AUTOTUNE_API NotTunedError : public Error {
 public:
  explicit NotTunedError(const std::string& message) : Error(message, ErrorCode::not_tuned) {}
};

}  // namespace autotune
