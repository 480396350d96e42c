// SQLite's file system with a fault in it: the n-th change to a file fails.
#pragma once

namespace autotune::test {

// While it lives, every file that SQLite opens goes through it. One at a time, one thread.
class FailingVfs {
 public:
  // Counts writes, syncs, truncations, and files made or deleted. The `first`-th (from 1) fails
  // with `code` (SQLITE_FULL, ...), and with `stays` all after it.
  FailingVfs(int first, int code, bool stays);
  ~FailingVfs();
  FailingVfs(const FailingVfs&) = delete;
  FailingVfs& operator=(const FailingVfs&) = delete;

  // How often it failed.
  [[nodiscard]] int failures() const;
};

}  // namespace autotune::test
