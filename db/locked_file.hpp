// The fault of a file that another process has locked.
#pragma once

#include "autotune/error.hpp"

namespace autotune {

// Another process had the file locked for longer than a call waits.
class LockedFile : public StorageError {
 public:
  using StorageError::StorageError;
};

}  // namespace autotune
