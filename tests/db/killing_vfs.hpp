// A file system under which a process dies at a chosen moment.
#pragma once

#include <csignal>

#include "tests/support/vfs_shim.hpp"

namespace autotune::test {

// Kills this process before the n-th change to a file.
class KillingVfs : public VfsShim {
 public:
  explicit KillingVfs(int n) : left_(n) {}
  int before(const FileChange&) override {
    if (--left_ == 0) std::raise(SIGKILL);
    return 0;
  }

 private:
  int left_;
};

}  // namespace autotune::test
