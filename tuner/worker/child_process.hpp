// Both sides of a worker process: starting and ending it, and its own set-up.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.hpp"

namespace autotune {

// A child process at the other end of a socket, with its standard error kept.
// Belongs to the thread that made it, and must not outlive it: the kernel ends the child with that
// thread (enter_worker_process).
class ChildProcess {
 public:
  // Starts `program arguments... --fd N`, where N is the child's end of the socket. The child
  // inherits no other descriptor, and Ctrl-C does not reach it. Throws Error.
  ChildProcess(const std::filesystem::path& program, std::vector<std::string> arguments);
  // Lets an idle child end by itself, and kills it otherwise.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int socket() const { return socket_.get(); }
  // It closed its socket, or ended.
  [[nodiscard]] bool hung_up() const;
  // finish() quotes only what the child writes on standard error from now on.
  void forget_words();

  struct End {
    std::string reason;  // "killed by signal 11 (SIGSEGV)", "exited with code 3", and last words
    bool ended = true;
    bool killed_by_others = false;  // SIGKILL that finish() did not send
    std::int64_t peak_bytes = 0;    // of memory, where it ended
  };
  // Ends the child: with SIGKILL, unless it ends by itself within `patience`. Says how it ended,
  // with the last line that it wrote on standard error. A child that cannot be killed (a driver
  // stuck in the kernel) is left behind after two seconds.
  End finish(std::chrono::milliseconds patience);

 private:
  struct Exit {
    int status = 0;
    std::int64_t peak_bytes = 0;
  };
  // Reaps the child; nullopt when it has not ended by the deadline.
  std::optional<Exit> reap(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::string last_words() const;

  FileDescriptor socket_;
  FileDescriptor errors_;  // a file in memory that is the child's standard error
  int pid_ = -1;
};

// In the child, first of all: it will not outlive the thread that started it, not even in the
// middle of a kernel, and leaves no core file when a candidate crashes it. False when the parent
// process is gone already.
[[nodiscard]] bool enter_worker_process(int parent_pid);

// In the child: from now on it gets no more address space than this. Not for one that uses CUDA's
// driver, which reserves far more than it uses; without effect in builds with a sanitizer, which
// do too.
void limit_memory(std::int64_t bytes);

}  // namespace autotune
