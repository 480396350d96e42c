// What several tables have in common: the columns of a problem, and how values become text.
#pragma once

#include <optional>

#include <SQLiteCpp/SQLiteCpp.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

namespace autotune {

// Binds :m, :n, :k, :layout and :math.
void bind_problem(SQLite::Statement& statement, const GemmProblem& problem);
// Reads the columns of these names. Throws Error when they hold no problem.
[[nodiscard]] GemmProblem problem_from(const SQLite::Statement& row);

// As JSON; bytes that are no UTF-8 (a driver's label, say) become question marks.
template <typename Value>
std::string json_text(const Value& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A row that does not read back as what was written is no row.
template <typename Read>
auto unless_damaged(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace autotune
