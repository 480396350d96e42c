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

TrialColumns columns_of(const SQLite::Statement& row) {
  const auto text = [&](const char* column) { return row.getColumn(column).getString(); };
  return {text("configuration"), text("status"),       text("detail"),   row.getColumn("median_us"),
          text("measurement"),   text("verification"), text("resources")};
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

std::optional<TrialColumns> sound_columns_of(const SQLite::Statement& row, const TrialScope& scope,
                                             const std::string& run_guid, const Problem& problem) {
  TrialColumns columns = columns_of(row);
  const std::string hash = trial_hash(scope, run_guid, problem, columns);
  if (hash != row.getColumn("row_hash").getString()) return std::nullopt;
  const bool is_ok = columns.status == to_string(TrialStatus::ok);
  if (!std::isfinite(columns.median_us) || (is_ok && columns.median_us <= 0)) return std::nullopt;
  return columns;
}

std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope,
                                const Problem& problem) {
  return unless_damaged([&]() -> std::optional<Trial> {
    const auto columns = sound_columns_of(row, scope, row.getColumn("guid").getString(), problem);
    if (!columns) return std::nullopt;
    Trial trial{.problem = problem,
                .template_name = scope.template_name,
                .configuration = Configuration::parse(columns->configuration),
                .status = trial_status_from_string(columns->status),
                .detail = columns->detail,
                .measurement = json_from(columns->measurement).get<Measurement>(),
                .verification = json_from(columns->verification).get<Verification>(),
                .resources = json_from(columns->resources).get<Resources>()};
    // The row is found by its column, and its JSON is what is shown.
    if (trial.ok() && trial.measurement.median_us != columns->median_us) return std::nullopt;
    return trial;
  });
}

}  // namespace autotune
