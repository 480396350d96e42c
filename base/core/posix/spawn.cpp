#include "core/posix/spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "core/posix/file_descriptor.hpp"

namespace autotune {
namespace {

// Throws EnvironmentError unless it is this process's limit that forbids it.
FileDescriptor open_null() {
  FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.get() >= 0 || errno == EMFILE || errno == ENFILE) return null;
  throw EnvironmentError(
      fmt::format("no program can be started: /dev/null: {}", std::strerror(errno)));
}

class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  // Returns 0, or the errno of the call that failed.
  int give(const std::vector<int>& descriptors) {
    const int count = static_cast<int>(descriptors.size());
    for (int target = 0; target < count; ++target) {
      const int source = descriptors[static_cast<std::size_t>(target)];
      const bool is_null = source == SpawnOptions::kNull;
      const FileDescriptor null = is_null ? open_null() : FileDescriptor();
      if (is_null && null.get() < 0) return errno;
      // The copy has a number that no action overwrites.
      copies_.emplace_back(::fcntl(is_null ? null.get() : source, F_DUPFD_CLOEXEC, count));
      if (copies_.back().get() < 0) return errno;
      ::posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), target);
    }
    return ::posix_spawn_file_actions_addclosefrom_np(&actions_, count);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
  std::vector<FileDescriptor> copies_;
};

class Attributes {
 public:
  explicit Attributes(bool own_group) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t defaults, blocked;
    sigemptyset(&defaults);
    sigemptyset(&blocked);
    sigaddset(&defaults, SIGCHLD);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (own_group) {
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
      sigfillset(&defaults);
      flags |= POSIX_SPAWN_SETPGROUP;  // to 0: its own number
    }
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setsigmask(&attributes_, &blocked);
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.data()));
  return result;
}

std::vector<char*> environment(const std::vector<std::string>& own) {
  std::vector<char*> result = pointers(own);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const std::string& other) {
      return std::string_view(other).starts_with(name);
    });
    if (!replaced) result.push_back(*variable);
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace

int spawn(const std::vector<std::string>& arguments, const SpawnOptions& options, pid_t& process) {
  Actions actions;
  if (const int error = actions.give(options.descriptors)) return error;
  const Attributes attributes(options.own_group);
  std::vector<char*> words = pointers(arguments);
  words.push_back(nullptr);
  return ::posix_spawn(&process, words.front(), actions.get(), attributes.get(), words.data(),
                       environment(options.environment).data());
}

}  // namespace autotune
