// A child process at the other end of a socket, with its standard error kept.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace autotune {

// Belongs to one thread. The destructor kills the child.
class ChildProcess {
 public:
  // Starts `program arguments... --fd N`, where N is the child's end of the socket; of this
  // process's other descriptors it inherits none that is close-on-exec. Throws Error.
  ChildProcess(const std::filesystem::path& program, std::vector<std::string> arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int socket() const { return socket_; }

  // Waits until there is something to read on the socket, or its end; false at the deadline.
  [[nodiscard]] bool wait_readable(std::chrono::steady_clock::time_point deadline) const;

  // Ends the child with SIGKILL where it still runs, and says how it ended: "killed by signal 11
  // (Segmentation fault)", "exited with code 3", and its last words on standard error. A child that
  // cannot be killed (a driver stuck in the kernel) is given up after two seconds.
  std::string finish();

 private:
  // Reaps the child; nullopt when it has not ended by the deadline.
  std::optional<int> reap(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::string last_words() const;
  void close_descriptors();

  int socket_ = -1;
  int errors_ = -1;  // a file in memory that is the child's standard error
  int pid_ = -1;
};

}  // namespace autotune
