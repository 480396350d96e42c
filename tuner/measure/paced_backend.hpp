// Measuring on a device that other programs need at the same time.
#pragma once

#include <chrono>
#include <string>

#include "tuner/measure/measurer.hpp"

namespace autotune {

// Rests after each piece of work, so that pieces take no more than a share of the time. A piece is
// never interrupted. For one thread.
class Pace {
 public:
  using Duration = std::chrono::duration<double>;

  // `share`: above 0, at most 1.
  explicit Pace(double share) : rest_per_work_(1 / share - 1) {}
  virtual ~Pace() = default;

  // Calls `piece()`, which returns when its work is done.
  template <typename Piece>
  auto keep(Piece piece) {
    const Rest rest(*this);
    return piece();
  }

 protected:
  [[nodiscard]] virtual Duration now() const;
  virtual void rest(Duration time);

 private:
  struct Rest {
    explicit Rest(Pace& of) : pace(of), began(of.now()) {}
    ~Rest() { pace.rest(pace.rest_per_work_ * (pace.now() - began)); }
    Pace& pace;
    Duration began;
  };

  double rest_per_work_;
};

// Another backend, whose work keeps to a pace: its pieces are the making of a problem's data,
// single launches, checks and samples.
class PacedBackend : public MeasureBackend {
 public:
  PacedBackend(MeasureBackend& backend, Pace& pace) : backend_(backend), pace_(pace) {}

  std::string provide(const MeasureRequest& request) override {
    backend_.compile_kernels(request.data);  // no work of the device
    return pace_.keep([&] { return backend_.provide(request); });
  }
  std::string load(const MeasureRequest& request) override { return backend_.load(request); }
  void prepare_launch() override { backend_.prepare_launch(); }
  void poison(DataSet data, Poison poison) override { backend_.poison(data, poison); }
  double launch(DataSet data) override {
    return pace_.keep([&] { return backend_.launch(data); });
  }
  CheckOutcome check(DataSet data, const std::string& when, Finding& finding) override {
    return pace_.keep([&] { return backend_.check(data, when, finding); });
  }
  void store_results() override { backend_.store_results(); }
  std::string changed_input(DataSet data) override {
    return pace_.keep([&] { return backend_.changed_input(data); });
  }
  // least_us() stays unknown: others make the rates of the device seem too low.
  Timing time(const TimingPlan& plan, double estimate_us) override;
  // Says that others may have disturbed the measurement.
  [[nodiscard]] std::string note() const override;
  [[nodiscard]] bool is_out_of_memory(const Error& error) const override {
    return backend_.is_out_of_memory(error);
  }
  [[nodiscard]] bool is_poisoned(const Error& error) const override {
    return backend_.is_poisoned(error);
  }
  void discard(TrialStatus status) override { backend_.discard(status); }

 private:
  MeasureBackend& backend_;
  Pace& pace_;
};

}  // namespace autotune
