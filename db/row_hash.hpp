// Hashes over the columns of a row: what integrity_check does not see, they do.
#pragma once

#include <string>

#include "core/hash.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// The columns of a trial as they are stored.
struct TrialColumns {
  GemmProblem problem;
  std::string configuration;
  std::string status;
  std::string detail;
  double median_us = 0;
  std::string measurement;
  std::string verification;
  std::string resources;
};

[[nodiscard]] inline std::string row_hash(const TrialScope& scope, const TrialColumns& row) {
  return FieldHasher()
      .add(scope.silicon_class)
      .add(scope.template_name)
      .add(std::int64_t{scope.interface_number})
      .add(scope.source_hash)
      .add(scope.environment.driver)
      .add(scope.environment.nvrtc_build)
      .add(std::int64_t{scope.environment.measuring_protocol})
      .add(to_string(row.problem))
      .add(to_string(row.problem.math))
      .add(row.configuration)
      .add(row.status)
      .add(row.detail)
      .add(row.median_us)
      .add(row.measurement)
      .add(row.verification)
      .add(row.resources)
      .digest();
}

}  // namespace autotune
