// Calls of this process into the driver or the compiler, which may take long or never return.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "gpu/gpu.hpp"

namespace autotune {

// The name of the callee, and the advice where it does not answer at all.
struct Awaited {
  const char* name;
  const char* advice;
};
inline constexpr Awaited kDriver{
    "the NVIDIA driver",
    "reset the GPU or start the machine again; the CPU device (--device cpu) needs no driver"};
inline constexpr Awaited kCompiler{"the compiler",
                                   "install it anew, or name another NVRTC in AUTOTUNE_NVRTC"};

// Watches a call as long as the object lives. Says on standard error what is waited for, and ends
// the program with exit code 3 if it does not answer at all: a thread that hangs in a driver can be
// ended in no other way. Workers have time limits of their own.
class CallWatch {
 public:
  struct Patience {
    std::chrono::milliseconds before_words{2000};
    // The limit of workers that open a device. None: the call has a limit of its own.
    std::optional<std::chrono::milliseconds> before_end{30'000};
  };
  // Called before the program ends, in a thread of the watch.
  using LastWords = std::function<void(std::chrono::milliseconds waited)>;

  // Without memory for a thread the call is not watched.
  CallWatch(const Awaited& awaited, Patience patience, LastWords last_words = {});

 private:
  std::jthread thread_;  // ends with the call
};

// Lets `wait` wait for `time` in slices, so that time in which this process was stopped does not
// count, but for a part of it that is shorter than a slice. Returns false when the call returned
// first.
bool outlasts(const std::stop_token& returned, std::chrono::milliseconds time,
              const std::function<void(std::chrono::milliseconds)>& wait);

// Returns what `call` returns, and watches it.
template <typename Call>
auto watched(const Awaited& awaited, Call call, CallWatch::LastWords last_words = {}) {
  const CallWatch watch(awaited, CallWatch::Patience{}, std::move(last_words));
  return call();
}

// inspect_driver(), watched.
[[nodiscard]] inline DriverReport driver_report(CallWatch::LastWords last_words = {}) {
  return watched(kDriver, inspect_driver, std::move(last_words));
}

// Notes for has_left_call_behind() that a call goes on.
void note_call_left_behind();

// Returns what `call` returns, or nullopt where it takes longer than `patience` or no thread can be
// made for it. A call that takes longer goes on in a thread of its own, so it must own all that it
// uses.
template <typename Call>
auto answer_within(std::chrono::milliseconds patience, Call call)
    -> std::optional<decltype(call())> {
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto answer = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  if (answer.wait_for(patience) == std::future_status::ready) return answer.get();
  note_call_left_behind();
  return std::nullopt;
}

// Returns whether answer_within() has left a call behind. The program must then end with _exit(),
// because what exit() calls could wait for that call.
[[nodiscard]] bool has_left_call_behind();

}  // namespace autotune
