// Measuring for a part of a device's time, by a clock that only work and rests move.
#include "tuner/measure/paced_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace autotune {
namespace {

struct FakeClock {
  double now_s = 0;
  std::vector<std::pair<double, double>> work;  // beginnings and ends

  void work_for(double seconds) {
    work.emplace_back(now_s, now_s + seconds);
    now_s += seconds;
  }
  [[nodiscard]] double worked_s() const {
    double sum = 0;
    for (const auto& [begin, end] : work) sum += end - begin;
    return sum;
  }
  // The most work in any second: the one that ends with a piece or begins with one.
  [[nodiscard]] double most_in_a_second() const {
    double most = 0;
    for (const auto& [from, until] : work) {
      for (const double second : {from, until - 1}) {
        double sum = 0;
        for (const auto& [begin, end] : work) {
          sum += std::max(0.0, std::min(end, second + 1) - std::max(begin, second));
        }
        most = std::max(most, sum);
      }
    }
    return most;
  }
};

class FakePace : public Pace {
 public:
  FakePace(double share, FakeClock& clock) : Pace(share), clock_(clock) {}

 protected:
  [[nodiscard]] Duration now() const override { return Duration(clock_.now_s); }
  void rest(Duration time) override { clock_.now_s += time.count(); }

 private:
  FakeClock& clock_;
};

// Every piece takes its own time.
class TimedBackend : public MeasureBackend {
 public:
  explicit TimedBackend(FakeClock& clock) : clock_(clock) {}
  std::vector<TimingPlan> plans;
  std::vector<double> times_us = {12, 10, 11, 10, 30};
  double too_slow_us = 0;
  double compile_s = 0;

  void compile_kernels(const ProblemData&) override { clock_.work_for(compile_s); }
  std::string provide(const MeasureRequest&) override {
    clock_.work_for(0.02);
    return "";
  }
  std::string load(const MeasureRequest&) override { return ""; }
  void poison(DataSet, Poison) override {}
  double launch(DataSet) override {
    clock_.work_for(0.001);
    return 10;
  }
  CheckOutcome check(DataSet, const std::string&, Finding&) override {
    clock_.work_for(0.003);
    return {};
  }
  Timing time(const TimingPlan& plan, double) override {
    plans.push_back(plan);
    clock_.work_for(0.002);
    const double us = times_us.at(plans.size() - 1);
    return {{.samples_us = {us},
             .median_us = us,
             .launches_per_sample = 200,
             .screened_out = too_slow_us > 0 && us > too_slow_us,
             .throttle_reasons = std::uint64_t{1} << plans.size() % 64}};
  }

 private:
  FakeClock& clock_;
};

TEST_SUITE("PacedBackend") {
  TEST_CASE("work takes no more than its share of any second, and one piece") {
    for (const double share : {0.05, 0.5}) {
      CAPTURE(share);
      FakeClock clock;
      TimedBackend backend(clock);
      backend.times_us.resize(500, 10);
      FakePace pace(share, clock);
      PacedBackend paced(backend, pace);
      Finding finding;
      for (int trial = 0; trial < 50; ++trial) {
        if (trial % 10 == 0) paced.provide({});
        paced.launch(DataSet::integers);
        paced.check(DataSet::integers, "", finding);
        static_cast<void>(paced.time({.samples = 5}, 10));
      }
      CHECK(clock.worked_s() == doctest::Approx(share * clock.now_s));
      CHECK(clock.most_in_a_second() <= share + 0.02);
      CHECK(clock.most_in_a_second() >= share);
    }
  }

  TEST_CASE("samples are taken one by one, with as many launches each, and give one result") {
    FakeClock clock;
    TimedBackend backend(clock);
    FakePace pace(0.05, clock);
    const Timing timing = PacedBackend(backend, pace).time({.samples = 5}, 10);
    CHECK(timing.measurement.samples_us == backend.times_us);
    CHECK(timing.measurement.median_us == 11);
    CHECK(timing.measurement.spread_us == 1);
    CHECK(timing.measurement.throttle_reasons == 62);
    REQUIRE(backend.plans.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(backend.plans[i].samples == 1);
      CHECK(backend.plans[i].launches_per_sample == (i == 0 ? 0 : 200));
    }
  }

  TEST_CASE("no sample follows once their median is too slow, which one sample may be by chance") {
    const TimingPlan plan = {.samples = 3, .stop_above_us = 10.5};
    const auto measured = [&](std::vector<double> times_us) {
      FakeClock clock;
      TimedBackend backend(clock);
      backend.too_slow_us = plan.stop_above_us;
      backend.times_us = std::move(times_us);
      FakePace pace(0.05, clock);
      return PacedBackend(backend, pace).time(plan, 10).measurement;
    };
    const Measurement slow = measured({11, 10, 10});
    CHECK(slow.samples_us == std::vector<double>{11});
    CHECK(slow.screened_out);
    const Measurement disturbed = measured({10, 11, 10});
    CHECK(disturbed.samples_us == std::vector<double>{10, 11, 10});
    CHECK_FALSE(disturbed.screened_out);
  }

  TEST_CASE("compiling, which the processor does, is not followed by a rest") {
    FakeClock clock;
    TimedBackend backend(clock);
    backend.compile_s = 1;
    FakePace pace(0.05, clock);
    PacedBackend(backend, pace).provide({});
    CHECK(clock.now_s == doctest::Approx(1 + 0.02 / 0.05));
  }

  TEST_CASE("a fault rests too") {
    FakeClock clock;
    FakePace pace(0.5, clock);
    CHECK_THROWS_AS(pace.keep([&] {
      clock.work_for(1);
      throw Error("fault");
    }),
                    Error);
    CHECK(clock.now_s == 2);
  }
}

}  // namespace
}  // namespace autotune
