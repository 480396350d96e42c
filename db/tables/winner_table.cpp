#include "db/tables/winner_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include <SQLiteCpp/VariadicBind.h>

#include "core/config_space.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/tables/columns.hpp"
#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/rates_table.hpp"

namespace autotune {
namespace {

std::string winner_hash(const Winner& winner, const std::string& body) {
  return FieldHasher()
      .add(winner.device_class)
      .add(winner.template_name)
      .add(winner.problem.key())
      .add(winner.device_label)
      .add(body)
      .digest();
}

std::optional<WinnerRow> row_from(const SQLite::Statement& row) {
  return unless_damaged([&]() -> std::optional<WinnerRow> {
    std::string body = row.getColumn("body").getString();
    Winner winner = json_from(body).get<Winner>();
    // The columns that it was found by count, whatever the body says; the hash covers them.
    winner.device_class = row.getColumn("device_class").getString();
    winner.template_name = row.getColumn("template").getString();
    winner.problem = Problem::parse(row.getColumn("problem_key").getString());
    winner.device_label = row.getColumn("device_label").getString();
    if (winner_hash(winner, body) != row.getColumn("row_hash").getString()) return std::nullopt;
    if (!(winner.median_us > 0) || !std::isfinite(winner.median_us)) return std::nullopt;
    if (!std::isfinite(winner.low_us) || !std::isfinite(winner.high_us)) return std::nullopt;
    const BaselineTime of_library = winner.baseline.value_or(BaselineTime());
    for (const double figure :
         {of_library.median_us, of_library.low_us, of_library.high_us, of_library.speedup,
          of_library.speedup_low, of_library.speedup_high}) {
      if (!std::isfinite(figure)) return std::nullopt;
    }
    return WinnerRow{std::move(winner), std::move(body)};
  });
}

// Only the columns of the filter are named, so that SQLite can use an index.
std::string query(const ResultFilter& filter) {
  std::string text =
      "SELECT winner.*, problem.key AS problem_key FROM winner"
      " LEFT JOIN problem ON problem.id = winner.problem WHERE true";
  if (filter.problem != Problem()) {
    text += " AND winner.problem = (SELECT id FROM problem WHERE key = :key)";
  }
  if (!filter.operation.empty()) text += " AND operation = :operation";
  if (!filter.device_class.empty()) text += " AND device_class = :device_class";
  if (!filter.device_label.empty()) text += " AND device_label = :device_label COLLATE NOCASE";
  return text;
}

std::vector<WinnerRow> select_rows(SQLite::Database& database, const ResultFilter& filter,
                                   std::int64_t* damaged = nullptr) {
  SQLite::Statement select(database, query(filter));
  if (filter.problem != Problem()) select.bind(":key", filter.problem.key());
  if (!filter.operation.empty()) select.bind(":operation", filter.operation);
  if (!filter.device_class.empty()) select.bind(":device_class", filter.device_class);
  if (!filter.device_label.empty()) {
    select.bind(":device_label", current_label(filter.device_label));
  }
  std::vector<WinnerRow> result;
  while (select.executeStep()) {
    std::optional<WinnerRow> row = row_from(select);
    // An index that is damaged may lead to a sound row of another device.
    if (row && matches(filter, row->winner)) result.push_back(std::move(*row));
    if (!row && damaged != nullptr) ++*damaged;
  }
  return result;
}

constexpr const char* kSelectOne =
    "SELECT winner.*, problem.key AS problem_key FROM winner JOIN problem ON"
    " problem.id = winner.problem WHERE device_class = ? AND problem.key = ? AND template = ?";

// The row of the same device class, problem and template; nullopt where none is sound.
std::optional<WinnerRow> stored_row(SQLite::Statement& select_one, const Winner& winner) {
  select_one.reset();
  SQLite::bind(select_one, winner.device_class, winner.problem.key(), winner.template_name);
  return select_one.executeStep() ? row_from(select_one) : std::nullopt;
}

// What else the body has is left as it is: a newer program may have written it.
WinnerRow with_baseline(WinnerRow row, const BaselineTime& baseline) {
  row.winner.baseline = baseline;
  nlohmann::json body = json_from(row.body);
  body["baseline"] = nlohmann::json(row.winner).at("baseline");
  body.erase("baseline_us");
  row.body = json_text(body);
  return row;
}

bool is_newer(const std::optional<BaselineTime>& one, const std::optional<BaselineTime>& other) {
  return one && (!other || one->measured_at > other->measured_at);
}

void insert_rows(SQLite::Database& database, std::span<const WinnerRow> rows) {
  SQLite::Statement insert(
      database,
      "INSERT OR REPLACE INTO winner (device_class, problem, template, device_label, body,"
      " row_hash) VALUES (:device_class, :problem, :template, :device_label, :body, :row_hash)");
  for (const auto& [winner, body] : rows) {
    insert.bind(":device_class", winner.device_class);
    insert.bind(":problem", make_problem(database, winner.problem));
    insert.bind(":template", winner.template_name);
    insert.bind(":device_label", winner.device_label);
    insert.bind(":body", body);
    insert.bind(":row_hash", winner_hash(winner, body));
    insert.exec();
    insert.reset();
  }
}

}  // namespace

void insert_winners(SQLite::Database& database, std::span<const Winner> winners) {
  std::vector<WinnerRow> rows;
  for (Winner winner : winners) {
    winner.device_label = current_label(winner.device_label);
    std::string body = json_text(winner);
    rows.push_back({std::move(winner), std::move(body)});
  }
  insert_rows(database, rows);
}

std::vector<Winner> select_winners(SQLite::Database& database, const ResultFilter& filter) {
  std::vector<Winner> result;
  for (WinnerRow& row : select_rows(database, filter)) {
    if (filter.is_possible &&
        !filter.is_possible(
            row.winner.template_name, row.winner.problem, row.winner.median_us,
            select_rates(database, row.winner.device_class, row.winner.environment))) {
      continue;
    }
    Winner& winner = result.emplace_back(std::move(row.winner));
    if (!winner.run.empty()) winner.run_row = find_run(database, winner.run).value_or(0);
  }
  std::ranges::sort(result, [](const Winner& a, const Winner& b) {
    return std::tie(a.device_class, a.problem, a.median_us) <
           std::tie(b.device_class, b.problem, b.median_us);
  });
  return result;
}

std::vector<WinnerRow> select_winner_rows(SQLite::Database& database, std::int64_t* damaged) {
  return select_rows(database, {}, damaged);
}

bool put_baseline(SQLite::Database& database, const Winner& winner, const BaselineTime& baseline) {
  SQLite::Statement select_one(database, kSelectOne);
  std::optional<WinnerRow> stored = stored_row(select_one, winner);
  if (!stored || !same_values(stored->winner.configuration, winner.configuration)) return false;
  select_one.reset();
  const WinnerRow row = with_baseline(*std::move(stored), baseline);
  insert_rows(database, {&row, 1});
  return true;
}

std::int64_t merge_winners(SQLite::Database& database, std::vector<WinnerRow> rows) {
  SQLite::Statement select_one(database, kSelectOne);
  std::erase_if(rows, [&](WinnerRow& row) {
    std::optional<WinnerRow> known = stored_row(select_one, row.winner);
    if (!known || known->winner.median_us > row.winner.median_us) return false;
    if (!is_newer(row.winner.baseline, known->winner.baseline) ||
        !same_values(known->winner.configuration, row.winner.configuration)) {
      return true;
    }
    row = with_baseline(*std::move(known), *row.winner.baseline);
    return false;
  });
  select_one.reset();
  insert_rows(database, rows);
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace autotune
