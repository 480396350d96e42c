// Stands in for parts of the C library in programs that preload it. ODD_SYSTEM names the part:
//   clock    the wall clock jumps by years, back and forth
//   nolocks  no file can be locked, as on a network's file system without its lock service
//   quota    no file of SQLite's can be written, because the user's share of the disk is used up
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool is(const char* part) {
  const char* const named = std::getenv("ODD_SYSTEM");
  return named != nullptr && std::strcmp(named, part) == 0;
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

extern "C" time_t time(time_t* seconds) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
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
