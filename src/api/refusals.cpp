#include "api/refusals.hpp"

#include <utility>

namespace autotune {
namespace {

constexpr std::chrono::seconds kKept(1);
constexpr std::size_t kMost = 1024;

}  // namespace

std::exception_ptr Refusals::lasting(const PlanKey& key) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end() || found->second.error == nullptr) return nullptr;
  if (Clock::now() < found->second.until) return found->second.error;
  refusals_.erase(found);
  return nullptr;
}

bool Refusals::refuses(const PlanKey& key) {
  const std::lock_guard lock(mutex_);
  return lasting(key) != nullptr;
}

std::uint64_t Refusals::throw_again(const PlanKey& key) {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = lasting(key);
    if (error == nullptr) return forgotten_;
  }
  std::rethrow_exception(std::move(error));
}

// An error of the environment may be that of a moment, such as a lack of memory.
void Refusals::keep(const PlanKey& key, std::uint64_t forgotten, const Error& error) {
  const std::lock_guard lock(mutex_);
  if (forgotten != forgotten_) return;  // what was refused then may be there now
  if (refusals_.size() >= kMost) refusals_.clear();
  Refusal& refusal = refusals_[key];
  const bool is_sure = error.code() == ErrorCode::not_tuned || refusal.text == error.what();
  refusal = {is_sure ? std::current_exception() : nullptr, error.what(), Clock::now() + kKept};
}

void Refusals::forget() {
  const std::lock_guard lock(mutex_);
  ++forgotten_;
  refusals_.clear();
}

}  // namespace autotune
