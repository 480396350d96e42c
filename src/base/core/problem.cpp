#include "autotune/problem.hpp"

#include "autotune/error.hpp"

namespace autotune {

std::string to_string(const GemmProblem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  const std::string layout = layout_text(problem);
  return layout == "NN" ? text : text + " " + layout;
}

std::string to_string(Math math) {
  switch (math) {
    case Math::strict:
      return "strict";
  }
  throw Error("unknown math mode " + std::to_string(static_cast<int>(math)));
}

std::string layout_text(const GemmProblem& problem) {
  const auto letter = [](Operation op) { return op == Operation::plain ? "N" : "T"; };
  return std::string(letter(problem.op_a)) + letter(problem.op_b);
}

Math math_from_string(const std::string& text) {
  if (text == "strict") return Math::strict;
  throw UsageError("math mode '" + text + "' is unknown: use strict");
}

void set_layout(GemmProblem& problem, const std::string& layout) {
  if (layout.size() != 2 || layout.find_first_not_of("NT") != std::string::npos) {
    throw UsageError("layout '" + layout + "' is unknown: use NN, NT, TN or TT");
  }
  problem.op_a = layout[0] == 'T' ? Operation::transposed : Operation::plain;
  problem.op_b = layout[1] == 'T' ? Operation::transposed : Operation::plain;
}

}  // namespace autotune
