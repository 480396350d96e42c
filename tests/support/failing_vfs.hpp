// SQLite's file system with a fault in it: the n-th change to a file fails.
#pragma once

#include <sqlite3.h>

#include "tests/support/vfs_shim.hpp"

namespace autotune::test {

class FailingVfs : public VfsShim {
 public:
  // Counts files opened, locked, written, synced, truncated and deleted; with SQLITE_FULL only what
  // a full disk refuses. The `first`-th (from 1) fails with `code`, and with `stays` all after it;
  // without a first one, none.
  explicit FailingVfs(int first = 0, int code = SQLITE_FULL, bool stays = false)
      : first_(first), code_(code), stays_(stays) {}

  // The number of failures.
  [[nodiscard]] int failures() const { return failures_; }

  int before(const FileChange& change) override {
    if (code_ == SQLITE_FULL && !needs_space(change)) return SQLITE_OK;
    ++changes_;
    const bool fails = stays_ ? first_ > 0 && changes_ >= first_ : changes_ == first_;
    if (!fails) return SQLITE_OK;
    ++failures_;
    return code_;
  }

 private:
  static bool needs_space(const FileChange& change) {
    using Kind = FileChange::Kind;
    return change.kind == Kind::write || change.kind == Kind::sync ||
           (change.kind == Kind::open && change.makes_file);
  }

  int first_;
  int code_;
  bool stays_;
  int changes_ = 0;
  int failures_ = 0;
};

}  // namespace autotune::test
