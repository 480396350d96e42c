// The content of a report: what a tuning database says of each size, template and parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/trial.hpp"
#include "core/winner.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// A trial as three numbers and places in the report's lists: there may be millions.
struct ReportTrial {
  double median_us = 0;  // 0 unless ok
  std::uint32_t space = 0;
  std::uint32_t place = 0;   // of its values in the space
  std::uint32_t detail = 0;  // in ReportData::details
  TrialStatus status = TrialStatus::ok;

  [[nodiscard]] bool ok() const { return status == TrialStatus::ok && median_us > 0; }
};

// The configurations that were tried of a template with one list of parameters.
struct ReportSpace {
  std::string template_name;
  std::vector<std::string> parameters;
  std::vector<std::int64_t> values;  // as many as there are parameters for each configuration

  [[nodiscard]] std::int64_t value(std::uint32_t place, std::size_t parameter) const {
    return values[place * parameters.size() + parameter];
  }
  [[nodiscard]] std::string configuration(std::uint32_t place) const;
};

struct ReportDevice {
  std::string label;
  std::string device_class;
  Environment environment;           // the newest one
  std::optional<DeviceRates> rates;  // measured in that environment
};

// The answer for a size: the winner of the finals, else the fastest trial.
struct ReportBest {
  std::string template_name;
  std::string configuration;
  double median_us = 0;
  double low_us = 0;
  double high_us = 0;
  bool confirmed = false;
};

// One problem on one device.
struct ReportSize {
  std::size_t device = 0;  // in ReportData::devices
  Problem problem;
  std::string text;
  Work work;
  std::vector<ReportTrial> trials;  // in the order they were stored
  std::optional<ReportBest> best;   // empty: no trial is correct
  std::optional<BaselineTime> baseline;

  [[nodiscard]] std::size_t correct() const;
  // The fastest correct trial; infinity where there is none.
  [[nodiscard]] double fastest_us() const;
  // The search's progress: the number of each trial that was faster than all before, and its time.
  [[nodiscard]] std::vector<std::pair<std::size_t, double>> convergence() const;
  // GFLOP/s that the device's measured rates allow at most.
  [[nodiscard]] double limit(const DeviceRates& rates) const;
};

struct ReportRun {
  RunInfo info;
  std::size_t trials = 0;
};

struct ReportData {
  std::string database;  // the name of its file
  std::vector<ReportDevice> devices;
  std::vector<ReportSize> sizes;  // by device, then by problem
  std::vector<ReportSpace> spaces;
  std::vector<std::string> details;  // of failures
  std::vector<ReportRun> runs;
  std::size_t trials = 0;
};

// Reads the trials and winners of a filter's device, or of all devices, and of one template, or of
// all. Problems that no operation of `kernels` has are left out.
[[nodiscard]] ReportData read_report(const KernelSet& kernels, const TuningDatabase& database,
                                     const ResultFilter& filter, const std::string& template_name);

// The names of failures with their templates, how often each was met, and the detail of one.
struct FailureCount {
  TrialStatus status = TrialStatus::ok;
  std::string template_name;
  std::size_t count = 0;
  std::string example;
};
[[nodiscard]] std::vector<FailureCount> count_failures(const ReportData& report);

}  // namespace autotune
