// The kernels that are loaded and the plans that are made, used by several threads.
#include "api/kernel_cache.hpp"

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "api/plan_table.hpp"

namespace autotune::test {
namespace {

KernelKey key(std::uint64_t context, const std::string& name) {
  return {context, name, Configuration({{"TILE_WIDTH", 16}}), {}};
}

TEST_SUITE("KernelCache") {
  TEST_CASE("each kernel is loaded once a context, whoever asks and how often") {
    KernelCache<std::string> kernels;
    std::atomic<int> loads = 0;
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < 40; ++i) {
          const std::string name = "kernel " + std::to_string(i / 2 % 8);
          const std::string& loaded = kernels.find_or_load(key(i % 2, name), [&] {
            ++loads;
            return std::make_unique<std::string>(name);
          });
          wrong += loaded != name;
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
    CHECK(loads == 16);
  }

  TEST_CASE("a kernel is found while another is being loaded") {
    KernelCache<int> kernels;
    const auto load = [] { return std::make_unique<int>(7); };
    kernels.find_or_load(key(0, "loaded"), load);
    std::latch loading(1);
    std::latch found(1);
    const std::jthread slow([&] {
      kernels.find_or_load(key(0, "slow"), [&] {
        loading.count_down();
        found.wait();
        return load();
      });
    });
    loading.wait();
    CHECK(kernels.find_or_load(key(0, "loaded"), load) == 7);
    CHECK(kernels.find_or_load(key(0, "new"), load) == 7);
    found.count_down();
  }

  TEST_CASE("a kernel that does not load is tried again") {
    KernelCache<int> kernels;
    const auto fail = []() -> std::unique_ptr<int> { throw Error("no memory"); };
    CHECK_THROWS_AS(kernels.find_or_load(key(0, "kernel"), fail), Error);
    CHECK(kernels.find_or_load(key(0, "kernel"), [] { return std::make_unique<int>(7); }) == 7);
  }
}

PlanKey plan_key(std::int64_t m) {
  return {1, {m, 2, 3}, Placement::anywhere};
}

// A plan, with the number of those that live.
struct CountedPlan {
  CountedPlan(int of, int& count) : value(of), living(count) { ++living; }
  ~CountedPlan() { --living; }
  CountedPlan(const CountedPlan&) = delete;
  CountedPlan& operator=(const CountedPlan&) = delete;
  bool operator==(const CountedPlan& other) const { return value == other.value; }

  const int value;
  int& living;
};

TEST_SUITE("PlanTable") {
  TEST_CASE("plans that are made many times over are kept once") {
    int living = 0;
    PlanTable<CountedPlan> plans;
    constexpr int kKeys = 200;
    const auto key_of = [](int i) { return PlanKey{1, {i, 1, 1}, Placement::aligned}; };
    for (int times = 0; times < 50; ++times) {
      for (int i = 0; i < kKeys; ++i) {
        plans.insert(key_of(i), plans.generation(), i, living);
        plans.replace(key_of(i), plans.generation(), i + 1, living);
        CHECK(plans.find(key_of(i))->value == i + 1);
      }
      CHECK(living == 2 * kKeys);
      plans.forget();
      CHECK(plans.find(key_of(0)) == nullptr);
    }
  }

  TEST_CASE("every plan is found by all that it is for, and by nothing else") {
    PlanTable<int> plans;
    for (int m = 0; m < 1000; ++m) CHECK(plans.insert(plan_key(m), 0, m) == m);
    for (int m = 0; m < 1000; ++m) {
      const int* const found = plans.find(plan_key(m));
      REQUIRE(found != nullptr);
      CHECK(*found == m);
    }
    CHECK(plans.find(plan_key(1000)) == nullptr);
    PlanKey other = plan_key(1);
    other.context = 2;
    CHECK(plans.find(other) == nullptr);
    other = plan_key(1);
    other.placement = Placement::aligned;
    CHECK(plans.find(other) == nullptr);
    other = plan_key(1);
    other.problem.op_b = Transpose::transposed;
    CHECK(plans.find(other) == nullptr);
    CHECK(plans.insert(plan_key(1), 0, -1) == 1);  // the first stays
  }

  TEST_CASE("a plan that was chosen before choices were forgotten is found by nobody") {
    PlanTable<int> plans;
    const int& before = plans.insert(plan_key(1), plans.generation(), 10);
    const std::uint64_t generation = plans.generation();
    plans.forget();
    CHECK(plans.find(plan_key(1)) == nullptr);
    CHECK(plans.insert(plan_key(1), generation, 11) == 11);
    CHECK(plans.find(plan_key(1)) == nullptr);
    plans.insert(plan_key(1), plans.generation(), 12);
    CHECK(*plans.find(plan_key(1)) == 12);
    CHECK(before == 10);  // calls may be at work with it
  }

  TEST_CASE("a plan takes the place of the key's, and of no other") {
    PlanTable<int> plans;
    for (int m = 0; m < 100; ++m) plans.insert(plan_key(m), 0, m);
    const int& before = *plans.find(plan_key(7));
    plans.replace(plan_key(7), plans.generation(), 70);
    plans.replace(plan_key(100), plans.generation(), 1000);  // there is none
    for (int m = 0; m < 100; ++m) CHECK(*plans.find(plan_key(m)) == (m == 7 ? 70 : m));
    CHECK(plans.find(plan_key(100)) == nullptr);
    CHECK(before == 7);  // calls may be at work with it
    for (int m = 200; m < 400; ++m) plans.insert(plan_key(m), 0, m);
    CHECK(*plans.find(plan_key(7)) == 70);
    const std::uint64_t generation = plans.generation();
    plans.advance();
    CHECK(*plans.find(plan_key(7)) == 70);
    CHECK(plans.insert(plan_key(500), generation, 500) == 500);  // chosen before
    CHECK(plans.find(plan_key(500)) == nullptr);
    plans.forget();
    plans.insert(plan_key(7), plans.generation(), 8);
    plans.replace(plan_key(7), generation, 9);
    CHECK(*plans.find(plan_key(7)) == 8);
  }

  TEST_CASE("readers find what is there while others insert and forget") {
    PlanTable<std::int64_t> plans;
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> readers;
    for (int thread = 0; thread < 3; ++thread) {
      readers.emplace_back([&] {
        while (!done) {
          for (std::int64_t m = 0; m < 300; ++m) {
            const std::int64_t* const found = plans.find(plan_key(m));
            wrong += found != nullptr && *found != m;
          }
        }
      });
    }
    for (int round = 0; round < 20; ++round) {
      for (std::int64_t m = 0; m < 300; ++m) plans.insert(plan_key(m), plans.generation(), m);
      for (std::int64_t m = 0; m < 300; m += 3) plans.replace(plan_key(m), plans.generation(), m);
      plans.forget();
    }
    done = true;
    readers.clear();
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace autotune::test
