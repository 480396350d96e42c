#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_THREAD__
// References to an exception are counted inside libstdc++, where the thread sanitizer does not see
// the atomics: where a thread is the last to end with a packaged_task, the end of its exception
// looks like a race with whoever caught it.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:std::__future_base::_Result\n";
}
#endif
