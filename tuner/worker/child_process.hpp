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

// A child process at the other end of a socket. Its standard error is kept. A ChildProcess belongs
// to the thread that made it and must not outlive this thread: the operating system ends the child
// with the thread (enter_worker_process).
class ChildProcess {
 public:
  // Starts `program arguments... --fd N`, where N is the child's end of the socket. The child
  // inherits no other descriptor. It leads a process group, so that Ctrl-C does not reach it and
  // the programs that it has started end with it. Throws Error.
  ChildProcess(const std::filesystem::path& program, std::vector<std::string> arguments);
  // Lets an idle child end by itself, and kills it otherwise.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int socket() const { return socket_.get(); }
  // A descriptor that becomes readable when the child ends; -1 where the system has none.
  [[nodiscard]] int process() const { return process_.get(); }
  // Returns whether the child has closed its socket or ended.
  [[nodiscard]] bool hung_up() const;
  // From any thread: closes the socket for both sides, and asks the programs that the child has
  // started to end.
  void hang_up() const;
  // finish() quotes only what the child writes on standard error from now on.
  void forget_words();

  struct End {
    std::string reason;  // "killed by signal 11 (SIGSEGV)", "exited with code 3", and last words
    bool ended = true;
    bool by_others = false;       // stopped, or killed with SIGKILL, but not by finish()
    std::int64_t peak_bytes = 0;  // of memory, if the child ended
    int exit_code = -1;           // if the child ended by itself
  };
  // Ends the child, with SIGKILL unless it ends by itself within `patience`. Returns how it ended,
  // with the last line that it wrote on standard error. A child that cannot be killed, because a
  // driver is stuck in the kernel, is left behind after two seconds.
  End finish(std::chrono::milliseconds patience);

 private:
  struct Exit {
    int status = 0;
    std::int64_t peak_bytes = 0;
  };
  // Reaps the child. Returns nullopt when it has not ended by the deadline.
  std::optional<Exit> reap(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::string last_words() const;

  FileDescriptor socket_;
  FileDescriptor process_;
  FileDescriptor errors_;  // a file in memory that is the child's standard error
  int pid_ = -1;
};

// The child calls this before anything else. The child and its group then do not outlive the thread
// that started it, even in the middle of a kernel, and the child leaves no core file when a
// candidate crashes it. Returns false when the parent process has already ended.
[[nodiscard]] bool enter_worker_process(int parent_pid);

// The child calls this to limit its address space. A child that uses CUDA's driver must not, since
// the driver reserves far more than it uses. The same is true of sanitizers, so the call has no
// effect in builds with one.
void limit_memory(std::int64_t bytes);

}  // namespace autotune
