#include "db/tables/trial_row.hpp"

#include <cmath>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/tables/columns.hpp"

namespace autotune {

TrialColumns columns_of(const Trial& trial) {
  const double median_us = trial.measurement.median_us;
  return {to_string(trial.configuration),
          to_string(trial.status),
          trial.detail,
          trial.ok() && std::isfinite(median_us) ? median_us : 0,
          json_text(trial.measurement),
          json_text(trial.verification),
          json_text(trial.resources)};
}

std::string trial_hash(const TrialScope& scope, const std::string& run_guid, const Problem& problem,
                       const TrialColumns& columns) {
  FieldHasher hasher;
  return add_scope(hasher, scope)
      .add(run_guid)
      .add(problem.key())
      .add(columns.configuration)
      .add(columns.status)
      .add(columns.detail)
      .add(columns.median_us)
      .add(columns.measurement)
      .add(columns.verification)
      .add(columns.resources)
      .digest();
}

std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope,
                                const Problem& problem) {
  using nlohmann::json;
  return unless_damaged([&]() -> std::optional<Trial> {
    const auto text = [&](const char* column) { return row.getColumn(column).getString(); };
    const TrialColumns columns = {text("configuration"), text("status"),
                                  text("detail"),        row.getColumn("median_us").getDouble(),
                                  text("measurement"),   text("verification"),
                                  text("resources")};
    if (trial_hash(scope, text("guid"), problem, columns) != text("row_hash")) return std::nullopt;
    return Trial{.problem = problem,
                 .template_name = scope.template_name,
                 .configuration = Configuration::parse(columns.configuration),
                 .status = trial_status_from_string(columns.status),
                 .detail = columns.detail,
                 .measurement = json::parse(columns.measurement).get<Measurement>(),
                 .verification = json::parse(columns.verification).get<Verification>(),
                 .resources = json::parse(columns.resources).get<Resources>()};
  });
}

}  // namespace autotune
