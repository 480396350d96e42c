// An application without exceptions gets statuses for what is wrong.
#include <cstdio>

#include <autotune/autotune.h>

int main() {
  autotune_options options{};
  options.size = sizeof options;
  options.device = AUTOTUNE_DEVICE_CPU;
  autotune_library* library = nullptr;
  autotune_problem problem{};
  problem.size = sizeof problem;
  problem.m = problem.n = problem.k = -1;
  if (autotune_open(&options, &library) != AUTOTUNE_OK) return 1;
  autotune_gemm_call call = {};
  call.size = sizeof call;
  call.problem = &problem;
  const autotune_status status = autotune_gemm(library, &call);
  std::printf("%d: %s\n", static_cast<int>(status), autotune_last_error());
  autotune_close(library);
  return status == AUTOTUNE_USAGE ? 0 : 1;
}
