#include "db/tables/winner_table.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/tables/columns.hpp"
#include "db/tables/problem_table.hpp"

namespace autotune {
namespace {

using nlohmann::json;

std::string winner_hash(const Winner& winner, const std::string& body) {
  return FieldHasher()
      .add(winner.device_class)
      .add(winner.template_name)
      .add(winner.problem.key())
      .add(winner.device_label)
      .add(body)
      .digest();
}

std::optional<Winner> winner_from(const SQLite::Statement& row) {
  return unless_damaged([&]() -> std::optional<Winner> {
    const std::string body = row.getColumn("body").getString();
    Winner winner = json::parse(body).get<Winner>();
    // The columns that it was found by count, whatever the body says; the hash covers them.
    winner.device_class = row.getColumn("device_class").getString();
    winner.template_name = row.getColumn("template").getString();
    winner.problem = Problem::parse(row.getColumn("problem_key").getString());
    winner.device_label = row.getColumn("device_label").getString();
    if (winner_hash(winner, body) != row.getColumn("row_hash").getString()) return std::nullopt;
    return winner;
  });
}

// Only the columns of the filter are named, so that SQLite can use an index.
std::string query(const ResultFilter& filter) {
  std::string text =
      "SELECT winner.*, problem.key AS problem_key FROM winner"
      " JOIN problem ON problem.id = winner.problem WHERE true";
  if (filter.problem != Problem()) {
    text += " AND winner.problem = (SELECT id FROM problem WHERE key = :key)";
  }
  if (!filter.operation.empty()) text += " AND operation = :operation";
  if (!filter.device_class.empty()) text += " AND device_class = :device_class";
  if (!filter.device_label.empty()) text += " AND device_label = :device_label COLLATE NOCASE";
  return text;
}

}  // namespace

void insert_winners(SQLite::Database& database, std::span<const Winner> winners) {
  SQLite::Statement insert(
      database,
      "INSERT OR REPLACE INTO winner (device_class, problem, template, device_label, body,"
      " row_hash) VALUES (:device_class, :problem, :template, :device_label, :body, :row_hash)");
  for (Winner winner : winners) {
    winner.device_label = current_label(winner.device_label);
    const std::string body = json_text(winner);
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

std::vector<Winner> select_winners(SQLite::Database& database, const ResultFilter& filter) {
  SQLite::Statement select(database, query(filter));
  if (filter.problem != Problem()) select.bind(":key", filter.problem.key());
  if (!filter.operation.empty()) select.bind(":operation", filter.operation);
  if (!filter.device_class.empty()) select.bind(":device_class", filter.device_class);
  if (!filter.device_label.empty()) {
    select.bind(":device_label", current_label(filter.device_label));
  }
  std::vector<Winner> result;
  while (select.executeStep()) {
    std::optional<Winner> winner = winner_from(select);
    // An index that is damaged may lead to a sound row of another device.
    if (winner && matches(filter, *winner)) result.push_back(std::move(*winner));
  }
  std::sort(result.begin(), result.end(), [](const Winner& a, const Winner& b) {
    return std::tie(a.device_class, a.problem, a.median_us) <
           std::tie(b.device_class, b.problem, b.median_us);
  });
  return result;
}

}  // namespace autotune
