// A caller of the C API.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autotune/autotune.h"

namespace autotune::test {

inline autotune_options cpu_options() {
  autotune_options options{};
  options.size = sizeof options;
  options.device = AUTOTUNE_DEVICE_CPU;
  return options;
}
inline autotune_problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  autotune_problem problem{};
  problem.size = sizeof problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

inline autotune_gemm_call call_of(const autotune_problem* problem, const float* a, const float* b,
                                  float* c) {
  autotune_gemm_call call{};
  call.size = sizeof call;
  call.problem = problem;
  call.alpha = 1;
  call.a.data = a;
  call.b.data = b;
  call.c.data = c;
  return call;
}

// All that a right call needs.
struct Caller {
  autotune_library* library = nullptr;
  autotune_plan* plan = nullptr;
  autotune_options options = cpu_options();
  autotune_problem problem = problem_of(2, 3, 4);
  autotune_tune_options tuning{};
  autotune_tune_result result{};
  autotune_choice choice{};
  float a[8] = {}, b[12] = {}, c[6] = {};
  autotune_gemm_call call = call_of(&problem, a, b, c);

  Caller() {
    call.a.ld = 4;
    call.b.ld = call.c.ld = 3;
    tuning.size = sizeof tuning;
    result.size = sizeof result;
    choice.size = sizeof choice;
  }

  autotune_status open() {
    autotune_library* opened = nullptr;
    const autotune_status status = autotune_open(&options, &opened);
    autotune_close(opened);
    return status;
  }
  autotune_status gemm() { return autotune_gemm(library, &call); }
  autotune_status run() {
    call.problem = nullptr;
    return autotune_plan_run(plan, &call);
  }
  autotune_status make_plan(std::int32_t aligned) {
    autotune_plan* made = nullptr;
    const autotune_status status = autotune_plan_create(library, &problem, aligned, &made);
    autotune_plan_destroy(made);
    return status;
  }
  autotune_status tune(std::size_t count = 1) {
    return autotune_tune(library, &problem, count, &tuning, &result);
  }
};

}  // namespace autotune::test
