// Stands in for parts of the C library in programs that preload it. ODD_SYSTEM names the part:
//   clock    the wall clock jumps by years, back and forth
//   names    a file of kernels' code (.cuh) gets no new name
//   nolocks  no file can be locked, as on a network's file system without its lock service
//   access   nobody may ask for permissions, as below an old container runtime
//   threads  no thread may be started, as there
//   nonull   there is no /dev/null
//   quota    no file of SQLite's can be written, because the user's share of the disk is used up
//   signals  every third write to a file in memory is interrupted by a signal
//   slow     the disk takes 0.7 s to write what it was given
//   worker   a worker sends other answers than it should, now and then
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool is(const char* part) {
  const char* const named = std::getenv("ODD_SYSTEM");
  return named != nullptr && std::strcmp(named, part) == 0;
}

// The bytes of an answer with its length before them, as a worker might send them that obeys
// somebody else.
std::string wrong_answer(std::string bytes, std::mt19937& random) {
  constexpr char kDouble = '\xfb';  // in CBOR, before its eight bytes
  constexpr std::array<double, 6> kFigures = {std::numeric_limits<double>::quiet_NaN(),
                                              std::numeric_limits<double>::infinity(),
                                              -1,
                                              0,
                                              1e300,
                                              1e-300};
  switch (random() % 4) {
    case 0:  // figures that no measurement gives
      for (std::size_t at = bytes.find(kDouble); at < bytes.size() - 8;
           at = bytes.find(kDouble, at + 9)) {
        const char* const figure = reinterpret_cast<const char*>(&kFigures[random() % 6]);
        for (std::size_t i = 0; i < 8; ++i) bytes[at + 1 + i] = figure[7 - i];
      }
      return bytes;
    case 1:  // wrong bytes, in the length too
      for (int edits = 0; edits < 3; ++edits) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      return bytes;
    case 2:  // twice
      return bytes + bytes;
    default: {  // values that take more memory than the bytes of the message
      constexpr std::size_t kValues = 4u << 20;
      std::string many = {'\x9a', 0, 0x40, 0, 0};  // an array of so many
      many.resize(many.size() + kValues, '\xf6');
      std::string length;
      for (int shift = 0; shift < 32; shift += 8) {
        length += static_cast<char>(many.size() >> shift & 0xff);
      }
      return length + many;
    }
  }
}

bool is_worker() {
  std::string words(4096, '\0');
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t count = ::read(file, words.data(), words.size());
  ::close(file);
  return count > 0 && words.find(std::string("\0worker\0", 8)) != std::string::npos;
}

void send_all(int socket, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const long count = ::syscall(SYS_sendto, socket, bytes.data() + done, bytes.size() - done,
                                 MSG_NOSIGNAL, nullptr, 0);
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

long jump_s() {
  static unsigned calls = 0;
  constexpr long kYear_s = 365 * 86400;
  return is("clock") ? (static_cast<long>(++calls % 3) - 1) * kYear_s : 0;
}

int control(int file, int command, void* argument) {
  const bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
  if (locks && is("nolocks")) {
    errno = ENOLCK;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fcntl, file, command, argument));
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += jump_s();
  return static_cast<int>(result);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  const std::string_view name(to);
  if (is("names") && name.find(".cuh") != std::string_view::npos) {
    errno = EPERM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_rename, from, to));
}

extern "C" time_t time(time_t* seconds) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

extern "C" ssize_t send(int socket, const void* bytes, size_t count, int flags) {
  static const bool obeys_others = is("worker") && is_worker();
  static std::mt19937 random(static_cast<unsigned>(::getpid()));
  if (!obeys_others || count < 16 || random() % 4 != 0) {
    return ::syscall(SYS_sendto, socket, bytes, count, flags, nullptr, 0);
  }
  send_all(socket, wrong_answer(std::string(static_cast<const char*>(bytes), count), random));
  return static_cast<ssize_t>(count);
}

extern "C" int fsync(int file) {
  constexpr useconds_t kSlow_us = 700'000;
  if (is("slow")) ::usleep(kSlow_us);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int fdatasync(int file) {
  return ::fsync(file);
}

extern "C" ssize_t write(int file, const void* bytes, size_t count) {
  static const bool is_odd = is("signals");
  static unsigned calls = 0;
  if (is_odd && ++calls % 3 == 0) {
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    std::array<char, 64> name{};
    if (::readlink(link.c_str(), name.data(), name.size() - 1) > 0 &&
        std::strstr(name.data(), "memfd:autotune-kernel") != nullptr) {
      errno = EINTR;
      return -1;
    }
  }
  return ::syscall(SYS_write, file, bytes, count);
}

extern "C" ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t at) {
  if (is("quota")) {
    errno = EDQUOT;
    return -1;
  }
  return ::syscall(SYS_pwrite64, file, bytes, count, at);
}

extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
  return ::pwrite64(file, bytes, count, at);
}

extern "C" int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (flags != 0 && is("access")) {
    errno = EPERM;
    return -1;
  }
  const long number = flags == 0 ? SYS_faccessat : SYS_faccessat2;
  return static_cast<int>(::syscall(number, folder, path, mode, flags));
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) noexcept {
  if (is("threads")) return EPERM;
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, work, argument);
}

extern "C" int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (is("nonull") && std::strcmp(path, "/dev/null") == 0) {
    errno = ENOENT;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control(file, command, argument);
}

extern "C" int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control(file, command, argument);
}
