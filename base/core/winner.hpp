// The best configuration known for one problem on one class of device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autotune/baseline_time.hpp"
#include "autotune/configuration.hpp"

#include "core/device_info.hpp"
#include "core/trial.hpp"

namespace autotune {

struct Winner {
  std::string device_class;
  std::string device_label;
  Problem problem;
  std::string template_name;
  int space_version = 0;
  std::string source_hash;  // of the template's text
  Environment environment;

  Configuration configuration;
  double median_us = 0;
  double low_us = 0;  // 95 % confidence interval of the median, or the range of few samples
  double high_us = 0;
  bool confirmed = false;           // chosen in interleaved finals; false: best of the screenings
  std::vector<Configuration> ties;  // of the same template, statistically as fast
  Verification verification;
  Resources resources;
  std::optional<DeviceRates> rates;      // of the device in the same environment
  std::optional<BaselineTime> baseline;  // what cuBLAS took beside it, where that was timed
  std::string note;         // one line on how it was measured: "12 of 10,000 blocks"; mostly empty
  std::string measured_at;  // UTC by the clock of the machine, "2026-11-21T05:40:44Z"
  std::string run;          // the guid of the tuner's run that stored it; empty in older ones
  // The number of the run in the database that the result came from, 0 where it is unknown. Runs
  // whose results were stored later have greater numbers.
  std::int64_t run_row = 0;
};

// No finalist is slower than the best trial of its search by more than this factor.
inline constexpr double kFinalistMargin = 1.05;

// The time by which winners of one problem are compared: a confirmed one is preferred to a
// screening that looks a little faster.
[[nodiscard]] inline double comparable_us(const Winner& winner) {
  constexpr double kConfirmedMargin = 1.02;
  return winner.confirmed ? winner.median_us : kConfirmedMargin * winner.median_us;
}

}  // namespace autotune
