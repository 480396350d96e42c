#include "cli/driver_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"
#include "cli/terminal.hpp"

namespace autotune {
namespace {

// Returns false when the call returned first. Time in which this process was stopped does not
// count, but for a part of it that is shorter than a slice.
bool lasts(const std::stop_token& returned, std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kSlice{100};
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  for (; time.count() > 0 && !returned.stop_requested(); time -= kSlice) {
    never.wait_for(lock, returned, std::min(time, kSlice), [] { return false; });
  }
  return !returned.stop_requested();
}

}  // namespace

DriverWatch::DriverWatch(Patience patience) {
  const auto watch = [patience](const std::stop_token& returned) {
    if (!lasts(returned, patience.before_words)) return;
    say("waiting for the NVIDIA driver");
    if (!lasts(returned, patience.before_end - patience.before_words)) return;
    say(
        fmt::format("the NVIDIA driver has not answered for {} s: reset the GPU or start the "
                    "machine again; the CPU device (--device cpu) needs no driver",
                    patience.before_end.count() / 1000));
    ::_exit(exit_code::kEnvironment);
  };
  try {
    thread_ = std::jthread(watch);
  } catch (const std::system_error&) {
    return;
  }
}

}  // namespace autotune
