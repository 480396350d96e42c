// Products that could not be had of late: a caller with a fallback asks again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_map>

#include "autotune/error.hpp"

#include "api/plan_table.hpp"

namespace autotune {

// Thread-safe.
class Refusals {
 public:
  // Returns what `make()` returns. Throws what it throws; once more, without a call, for a key that
  // ended in a NotTunedError less than a second ago, or twice in the same other error, and was not
  // forgotten since.
  template <typename Make>
  auto& unless_refused(const PlanKey& key, Make make) {
    const std::uint64_t forgotten = throw_again(key);
    try {
      return make();
    } catch (const Error& error) {
      if (lasts(error.code())) keep(key, forgotten, error);
      throw;
    }
  }

  // Returns whether unless_refused() would throw without a call.
  [[nodiscard]] bool refuses(const PlanKey& key);
  void forget();

 private:
  using Clock = std::chrono::steady_clock;
  struct Refusal {
    std::exception_ptr error;  // nullptr before it is sure to come again
    std::string text;
    Clock::time_point until;
  };
  // Returns nullptr where none lasts. The mutex must be held.
  [[nodiscard]] std::exception_ptr lasting(const PlanKey& key);

  // Wrong calls and faults of the device may be gone with the next call.
  static bool lasts(ErrorCode code) {
    return code != ErrorCode::usage && code != ErrorCode::device && code != ErrorCode::no_memory;
  }
  // Returns how often refusals were forgotten.
  [[nodiscard]] std::uint64_t throw_again(const PlanKey& key);
  // Called while the error is handled.
  void keep(const PlanKey& key, std::uint64_t forgotten, const Error& error);

  std::mutex mutex_;
  std::unordered_map<PlanKey, Refusal, PlanKey::Hash> refusals_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace autotune
