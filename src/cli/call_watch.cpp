#include "cli/call_watch.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

bool lasts(const std::stop_token& returned, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  return outlasts(returned, time, [&](std::chrono::milliseconds slice) {
    never.wait_for(lock, returned, slice, [] { return false; });
  });
}

std::atomic<bool> left_behind = false;

}  // namespace

bool outlasts(const std::stop_token& returned, std::chrono::milliseconds time,
              const std::function<void(std::chrono::milliseconds)>& wait) {
  constexpr std::chrono::milliseconds kSlice{100};
  for (; time.count() > 0 && !returned.stop_requested(); time -= kSlice) {
    wait(std::min(time, kSlice));
  }
  return !returned.stop_requested();
}

CallWatch::CallWatch(const Awaited& awaited, Patience patience, LastWords last_words) {
  const auto watch = [=, last_words = std::move(last_words)](const std::stop_token& returned) {
    if (!lasts(returned, patience.before_words)) return;
    say(fmt::format("waiting for {}", awaited.name));
    if (!patience.before_end) return;
    if (!lasts(returned, *patience.before_end - patience.before_words)) return;
    if (last_words) last_words(*patience.before_end);
    say(fmt::format("{} has not answered for {} s: {}", awaited.name,
                    patience.before_end->count() / 1000, awaited.advice));
    ::_exit(exit_code::kEnvironment);
  };
  try {
    thread_ = std::jthread(watch);
  } catch (const std::system_error&) {
    return;
  }
}

void note_call_left_behind() {
  left_behind = true;
}

bool has_left_call_behind() {
  return left_behind;
}

}  // namespace autotune
