#include "api/refusals.hpp"

#include <utility>

namespace autotune {
namespace {

constexpr std::chrono::seconds kKept(1);
constexpr std::size_t kMost = 1024;

}  // namespace

std::uint64_t Refusals::throw_again(const PlanKey& key) {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    const auto found = refusals_.find(key);
    if (found == refusals_.end()) return forgotten_;
    if (Clock::now() >= found->second.until) {
      refusals_.erase(found);
      return forgotten_;
    }
    error = found->second.error;
  }
  std::rethrow_exception(std::move(error));
}

void Refusals::keep(const PlanKey& key, std::uint64_t forgotten, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (forgotten != forgotten_) return;  // what was refused then may be there now
  if (refusals_.size() >= kMost) refusals_.clear();
  refusals_.insert_or_assign(key, Refusal{std::move(error), Clock::now() + kKept});
}

void Refusals::forget() {
  const std::lock_guard lock(mutex_);
  ++forgotten_;
  refusals_.clear();
}

}  // namespace autotune
