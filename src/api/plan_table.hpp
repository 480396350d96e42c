// The plans that gemm() has made so far. They are found without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autotune/problem.hpp"

#include "api/kernel_selector.hpp"

namespace autotune {

struct PlanKey {
  std::uint64_t context = 0;
  GemmProblem problem;  // row-major
  Placement placement = Placement::anywhere;
  PointerMode scalars = PointerMode::host;

  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    return a.context == b.context && a.problem == b.problem && a.placement == b.placement &&
           a.scalars == b.scalars;
  }
  [[nodiscard]] std::size_t hash() const noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const GemmProblem& p = problem;
    const auto choices =
        static_cast<std::uint64_t>(p.op_a) | static_cast<std::uint64_t>(p.op_b) << 1 |
        static_cast<std::uint64_t>(p.math) << 2 | static_cast<std::uint64_t>(placement) << 4 |
        static_cast<std::uint64_t>(scalars) << 6 | std::uint64_t{p.types.number()} << 7;
    std::uint64_t mixed = context << 8 ^ choices;
    for (const std::int64_t size : {p.m, p.n, p.k, p.batch}) {
      mixed = (mixed ^ static_cast<std::uint64_t>(size)) * kOdd;
      mixed ^= mixed >> 32;
    }
    return static_cast<std::size_t>(mixed);
  }
  struct Hash {
    std::size_t operator()(const PlanKey& key) const noexcept { return key.hash(); }
  };
};

// Plans stay as long as the table: calls may be at work with them, and graphs. A plan that is equal
// to one that its key had before is not kept; that one takes its place again, so a table grows with
// what was chosen, not with how often. Thread-safe.
template <typename Plan>
class PlanTable {
 public:
  PlanTable() { publish(kFirstSlots); }

  // Returns nullptr when there is none.
  [[nodiscard]] const Plan* find(const PlanKey& key) const noexcept {
    const Slots& slots = *current_.load(std::memory_order_acquire);
    for (std::size_t i = key.hash();; ++i) {
      const Entry* entry = slots[i % slots.size()].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->key == key) return entry->plan.load(std::memory_order_acquire);
    }
  }

  // The number of times that choices were forgotten or advanced: a plan is inserted with the number
  // from before its choice, and one from before the last time is found by nobody.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(); }

  // Makes a plan from `arguments`, unless another thread has inserted one for the key meanwhile.
  template <typename... Arguments>
  const Plan& insert(const PlanKey& key, std::uint64_t generation, Arguments&&... arguments) {
    const std::lock_guard lock(writing_);
    if (const Plan* known = find(key)) return *known;
    Entry& entry = entry_of(key);
    const Plan& plan = entry.keep(std::forward<Arguments>(arguments)...);
    if (generation == generation_.load()) entry.plan.store(&plan, std::memory_order_release);
    return plan;
  }

  // Plans that are found stay so, but those that are being made now will be found by nobody: their
  // choice may lack what is known since. Returns the new number.
  std::uint64_t advance() {
    const std::lock_guard lock(writing_);
    return ++generation_;
  }

  // Puts a new plan in the place of the key's, if it has one and `generation` is the latest. Others
  // find the old plan or the new one.
  template <typename... Arguments>
  void replace(const PlanKey& key, std::uint64_t generation, Arguments&&... arguments) {
    const std::lock_guard lock(writing_);
    if (generation != generation_.load() || find(key) == nullptr) return;
    Entry& entry = entry_of(key);
    entry.plan.store(&entry.keep(std::forward<Arguments>(arguments)...), std::memory_order_release);
  }

  // From now on no plan is found.
  void forget() {
    const std::lock_guard lock(writing_);
    ++generation_;
    for (Entry& entry : entries_) entry.plan.store(nullptr, std::memory_order_release);
  }

 private:
  struct Entry {
    explicit Entry(const PlanKey& of) : key(of) {}

    template <typename... Arguments>
    const Plan& keep(Arguments&&... arguments) {
      auto made = std::make_unique<Plan>(std::forward<Arguments>(arguments)...);
      for (const auto& known : plans) {
        if (*known == *made) return *known;
      }
      return *plans.emplace_back(std::move(made));
    }

    const PlanKey key;
    std::atomic<const Plan*> plan = nullptr;  // the one that is found
    std::vector<std::unique_ptr<Plan>> plans;
  };
  using Slots = std::vector<std::atomic<Entry*>>;  // a power of two, half of them empty
  static constexpr std::size_t kFirstSlots = 64;

  Entry& entry_of(const PlanKey& key) {
    for (std::size_t i = key.hash();; ++i) {
      Entry* const entry = (*slots_.back())[i % slots_.back()->size()].load();
      if (entry == nullptr) break;
      if (entry->key == key) return *entry;
    }
    if (2 * (entries_.size() + 1) > slots_.back()->size()) publish(2 * slots_.back()->size());
    Entry& entry = entries_.emplace_back(key);
    place(*slots_.back(), entry);
    return entry;
  }

  static void place(Slots& slots, Entry& entry) {
    std::size_t i = entry.key.hash();
    while (slots[i % slots.size()].load(std::memory_order_relaxed) != nullptr) ++i;
    slots[i % slots.size()].store(&entry, std::memory_order_release);
  }

  void publish(std::size_t size) {
    slots_.push_back(std::make_unique<Slots>(size));
    for (Entry& entry : entries_) place(*slots_.back(), entry);
    current_.store(slots_.back().get(), std::memory_order_release);
  }

  std::mutex writing_;
  std::deque<Entry> entries_;
  std::vector<std::unique_ptr<Slots>> slots_;  // all that readers may hold; the last is current
  std::atomic<const Slots*> current_ = nullptr;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace autotune
