// Work that a child process must not find half done: in a child that is forked meanwhile the thread
// that does it does not exist, and whatever it has locked stays locked.
#pragma once

namespace autotune {

// As long as one exists in any thread, calls of fork() by other threads wait, for 2 s at most. It
// is for work that takes a moment: of a database, which has locks of this process's own besides
// those of files; of the dynamic linker; of tables that are made when they are first used.
class NoFork {
 public:
  NoFork() noexcept;
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

}  // namespace autotune
