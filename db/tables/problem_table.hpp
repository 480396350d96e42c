// The table problem: what trials and winners name by a number. A row has no hash of its own: the
// hash of every trial and winner covers the key. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/problem.hpp"
#include "db/result_filter.hpp"

namespace autotune {

struct StoredProblem {
  std::int64_t id = 0;
  Problem problem;
};

[[nodiscard]] std::optional<std::int64_t> find_problem(SQLite::Database& database,
                                                       const Problem& problem);
// The number of the row, which is made when it is not there. A problem without an operation is
// refused by SQLite.
[[nodiscard]] std::int64_t make_problem(SQLite::Database& database, const Problem& problem);

// The problems that a scope has trials of, sorted, or of these the one of the filter. The number of
// its trials makes no difference.
[[nodiscard]] std::vector<StoredProblem> problems_of_scope(SQLite::Database& database,
                                                           std::int64_t scope,
                                                           const ResultFilter& filter);

// Implements TuningDatabase::visit_problems().
void visit_problems(SQLite::Database& database, const ResultFilter& filter,
                    const std::function<void(const Problem&)>& visit);

// The column key as a problem; nullopt when it is damaged.
[[nodiscard]] std::optional<Problem> problem_from(const SQLite::Column& key);

}  // namespace autotune
