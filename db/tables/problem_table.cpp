#include "db/tables/problem_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include "db/tables/columns.hpp"
#include "db/tables/provenance.hpp"

namespace autotune {
namespace {

// One seek for each problem of the scope.
constexpr const char* kProblemsOfScope =
    "WITH RECURSIVE present(id) AS ("
    "SELECT MIN(problem) FROM trial WHERE scope = :scope"
    " UNION SELECT (SELECT MIN(problem) FROM trial WHERE scope = :scope AND problem > present.id)"
    " FROM present WHERE present.id IS NOT NULL)"
    " SELECT problem.id, problem.key FROM present CROSS JOIN problem ON problem.id = present.id";

std::vector<std::int64_t> numbers_of(const std::vector<StoredScope>& scopes) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(scopes.size());
  for (const StoredScope& scope : scopes) numbers.push_back(scope.id);
  return numbers;
}

// The winners' problems are gathered once; of trials, one seek for each problem finds whether there
// is a correct one.
std::string problems_query(const ResultFilter& filter, const std::vector<StoredScope>& scopes) {
  std::string text = "SELECT key FROM problem WHERE ";
  if (!filter.operation.empty()) text += "operation = :operation AND ";
  if (filter.problem != Problem()) text += "key = :key AND ";
  text += "(id IN (SELECT problem FROM winner WHERE true";
  if (!filter.device_class.empty()) text += " AND device_class = :device_class";
  if (!filter.device_label.empty()) text += " AND device_label = :device_label COLLATE NOCASE";
  return text + fmt::format(
                    ") OR EXISTS (SELECT 1 FROM trial WHERE scope IN ({}) AND"
                    " problem = problem.id AND status = 'ok' AND median_us > 0))",
                    fmt::join(numbers_of(scopes), ", "));
}

}  // namespace

std::optional<Problem> problem_from(const SQLite::Column& key) {
  const char* const text = key.getText();
  const auto bytes = static_cast<std::size_t>(key.getBytes());
  return unless_damaged([&] { return std::optional(Problem::parse({text, bytes})); });
}

std::optional<std::int64_t> find_problem(SQLite::Database& database, const Problem& problem) {
  SQLite::Statement select(database, "SELECT id FROM problem WHERE key = ?");
  select.bind(1, problem.key());
  if (!select.executeStep()) return std::nullopt;
  return select.getColumn(0).getInt64();
}

std::int64_t make_problem(SQLite::Database& database, const Problem& problem) {
  if (const auto id = find_problem(database, problem)) return *id;
  SQLite::Statement insert(database, "INSERT INTO problem (operation, key) VALUES (?, ?)");
  insert.bind(1, problem.operation());
  insert.bind(2, problem.key());
  insert.exec();
  return database.getLastInsertRowid();
}

std::vector<StoredProblem> problems_of_scope(SQLite::Database& database, std::int64_t scope,
                                             const ResultFilter& filter) {
  if (filter.problem != Problem()) {
    const auto id = find_problem(database, filter.problem);
    return id ? std::vector<StoredProblem>{{*id, filter.problem}} : std::vector<StoredProblem>{};
  }
  SQLite::Statement select(database, kProblemsOfScope);
  select.bind(":scope", scope);
  std::vector<StoredProblem> result;
  while (select.executeStep()) {
    std::optional<Problem> problem = problem_from(select.getColumn(1));
    if (!problem) continue;
    if (!filter.operation.empty() && problem->operation() != filter.operation) continue;
    result.push_back({select.getColumn(0).getInt64(), std::move(*problem)});
  }
  std::ranges::sort(
      result, [](const StoredProblem& a, const StoredProblem& b) { return a.problem < b.problem; });
  return result;
}

void visit_problems(SQLite::Database& database, const ResultFilter& filter,
                    const std::function<void(const Problem&)>& visit) {
  SQLite::Statement select(database, problems_query(filter, select_scopes(database, filter)));
  if (!filter.operation.empty()) select.bind(":operation", filter.operation);
  if (filter.problem != Problem()) select.bind(":key", filter.problem.key());
  if (!filter.device_class.empty()) select.bind(":device_class", filter.device_class);
  if (!filter.device_label.empty()) {
    select.bind(":device_label", current_label(filter.device_label));
  }
  while (select.executeStep()) {
    if (const auto problem = problem_from(select.getColumn(0))) visit(*problem);
  }
}

}  // namespace autotune
