// Measuring requests as the program makes them.
#pragma once

#include "operation/gemm/gemm.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune::test {

// Sets what a request says of its problem, for the kind of data that it has.
inline void set_problem(MeasureRequest& request, const Operation& operation,
                        const Problem& problem) {
  request.problem = problem;
  request.data = problem_data(operation, problem, request.input);
}
inline void set_problem(MeasureRequest& request, const GemmProblem& problem) {
  set_problem(request, gemm_operation(), problem);
}

inline MeasureRequest request_for(const GemmProblem& problem) {
  MeasureRequest request;
  set_problem(request, problem);
  return request;
}

}  // namespace autotune::test
