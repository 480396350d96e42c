#include "db/columns.hpp"

namespace autotune {

void bind_problem(SQLite::Statement& statement, const GemmProblem& problem) {
  statement.bind(":m", problem.m);
  statement.bind(":n", problem.n);
  statement.bind(":k", problem.k);
  statement.bind(":layout", layout_text(problem));
  statement.bind(":math", to_string(problem.math));
}

GemmProblem problem_from(const SQLite::Statement& row) {
  GemmProblem problem;
  problem.m = row.getColumn("m").getInt64();
  problem.n = row.getColumn("n").getInt64();
  problem.k = row.getColumn("k").getInt64();
  set_layout(problem, row.getColumn("layout").getString());
  problem.math = math_from_string(row.getColumn("math").getString());
  return problem;
}

}  // namespace autotune
