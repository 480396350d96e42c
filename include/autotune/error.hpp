// The exceptions that autotune throws. One family: catch autotune::Error for all of them.
//
// Exceptions are for faults. Outcomes that a tuner expects (a candidate that does not compile, a
// kernel that returns wrong numbers, a size that was not tuned) are values, never exceptions.
#pragma once

#include <stdexcept>

#include "autotune/export.hpp"

namespace autotune {

class AUTOTUNE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request itself is wrong: a size that is not a number, a parameter value outside its set, an
// empty search space. Nothing was asked of a device and nothing was stored.
class AUTOTUNE_API UsageError : public Error {
 public:
  using Error::Error;
};

// Something outside the program is absent or unfit: no driver, no GPU, no NVRTC, a problem larger
// than the device's memory.
class AUTOTUNE_API EnvironmentError : public Error {
 public:
  using Error::Error;
};

// The database could not be opened, read or written. What was in it is untouched.
class AUTOTUNE_API StorageError : public Error {
 public:
  using Error::Error;
};

}  // namespace autotune
