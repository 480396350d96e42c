/* embed_gemm in C. */
#include <stdio.h>

#include "autotune/autotune.h"

static int failed(autotune_status status) {
  if (status == AUTOTUNE_OK) return 0;
  fprintf(stderr, "status %d: %s\n", (int)status, autotune_last_error());
  return 1;
}

int main(void) {
  const autotune_options options = {.size = sizeof options, .device = AUTOTUNE_DEVICE_CPU};
  autotune_library* library = NULL;
  if (failed(autotune_open(&options, &library))) return 1;

  const autotune_problem problem = {.size = sizeof problem, .m = 70, .n = 33, .k = 51};
  const autotune_tune_options few = {.size = sizeof few, .budget_trials = 10};
  if (failed(autotune_tune(library, &problem, 1, &few, NULL))) return 1;

  static float a[70 * 51], b[51 * 33], c[70 * 33];
  for (int i = 0; i < 70 * 51; ++i) a[i] = 2;
  for (int i = 0; i < 51 * 33; ++i) b[i] = 3;
  int32_t match = -1;
  const autotune_gemm_call call = {.size = sizeof call,
                                   .problem = &problem,
                                   .alpha = 1,
                                   .a.data = a,
                                   .b.data = b,
                                   .c.data = c,
                                   .match = &match};
  if (failed(autotune_gemm(library, &call))) return 1;

  char name[128];
  if (failed(autotune_device_name(library, name, sizeof name))) return 1;
  printf("70x33x51 on %s, %s: %g\n", name, match == AUTOTUNE_EXACT ? "exact" : "not tuned", c[0]);
  autotune_close(library);
  return c[0] == 306 && c[70 * 33 - 1] == 306 ? 0 : 1; /* 51 * 2 * 3 */
}
