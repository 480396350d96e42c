#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_THREAD__
// References to an exception are counted inside libstdc++, where the thread sanitizer does not see
// the atomics. Where the thread of a task drops the last one, the destruction of the exception
// looks like a race with the thread that caught it.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:^std::__future_base::_Result*::_M_destroy\n";
}
#endif
