#include "db/winner_table.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <strings.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/columns.hpp"

namespace autotune {
namespace {

using nlohmann::json;

std::string winner_hash(const Winner& winner, const std::string& body) {
  return FieldHasher()
      .add(winner.device_class)
      .add(winner.template_name)
      .add(winner.problem.m)
      .add(winner.problem.n)
      .add(winner.problem.k)
      .add(layout_text(winner.problem))
      .add(to_string(winner.problem.math))
      .add(winner.device_label)
      .add(body)
      .digest();
}

std::optional<Winner> winner_from(const SQLite::Statement& row) {
  return unless_damaged([&]() -> std::optional<Winner> {
    const std::string body = row.getColumn("body").getString();
    Winner winner = json::parse(body).get<Winner>();
    // The columns that it was found by must be the ones that it says it is.
    winner.device_class = row.getColumn("silicon_class").getString();
    winner.template_name = row.getColumn("template").getString();
    winner.problem = problem_from(row);
    winner.device_label = row.getColumn("device_label").getString();
    if (winner_hash(winner, body) != row.getColumn("row_hash").getString()) return std::nullopt;
    return winner;
  });
}

// Only what is filtered by is named, so that SQLite can use an index.
std::string query(bool by_class, bool by_label) {
  std::string text = "SELECT * FROM winner";
  if (by_class) text += " WHERE silicon_class = :silicon_class";
  if (by_label) {
    text += by_class ? " AND" : " WHERE";
    text += " device_label = :device_label COLLATE NOCASE";
  }
  return text;
}

}  // namespace

void insert_winners(SQLite::Database& database, std::span<const Winner> winners) {
  SQLite::Statement insert(
      database,
      "INSERT OR REPLACE INTO winner (silicon_class, template, m, n, k, layout, math,"
      " device_label, body, row_hash) VALUES (:silicon_class, :template, :m, :n, :k, :layout,"
      " :math, :device_label, :body, :row_hash)");
  for (const Winner& winner : winners) {
    const std::string body = json_text(winner);
    bind_problem(insert, winner.problem);
    insert.bind(":silicon_class", winner.device_class);
    insert.bind(":template", winner.template_name);
    insert.bind(":device_label", winner.device_label);
    insert.bind(":body", body);
    insert.bind(":row_hash", winner_hash(winner, body));
    insert.exec();
    insert.reset();
  }
}

std::vector<Winner> select_winners(SQLite::Database& database, const std::string& device_class,
                                   const std::string& device_label) {
  SQLite::Statement select(database, query(!device_class.empty(), !device_label.empty()));
  if (!device_class.empty()) select.bind(":silicon_class", device_class);
  if (!device_label.empty()) select.bind(":device_label", device_label);
  std::vector<Winner> result;
  while (select.executeStep()) {
    std::optional<Winner> winner = winner_from(select);
    // An index that is damaged may lead to a sound row of another device.
    if (!winner || (!device_class.empty() && winner->device_class != device_class) ||
        (!device_label.empty() &&
         ::strcasecmp(winner->device_label.c_str(), device_label.c_str()) != 0)) {
      continue;
    }
    result.push_back(std::move(*winner));
  }
  std::sort(result.begin(), result.end(), [](const Winner& a, const Winner& b) {
    return std::tie(a.device_class, a.problem, a.median_us) <
           std::tie(b.device_class, b.problem, b.median_us);
  });
  return result;
}

}  // namespace autotune
