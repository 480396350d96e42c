// An application of the shared library: used before main(), and with exceptions that the library
// throws and the application catches by type.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <autotune/autotune.hpp>

namespace {

std::string winner_before_main() {
  const autotune::Library library({.device = autotune::Device::cpu()});
  return to_string(library.query({.m = 64, .n = 64, .k = 64}).configuration);
}

const std::string before_main = winner_before_main();

// Multiplies among the last things that the process does.
struct AtExit {
  autotune::Library library{{.device = autotune::Device::cpu()}};

  ~AtExit() {
    const float beta = 2;
    float c[] = {1.5F};
    library.gemm({.m = 1, .n = 1, .k = 0}, 1, {}, {}, beta, {c});
    const bool is_known = winner_before_main() == before_main;
    if (c[0] != 3 || !is_known) std::_Exit(1);
  }
} at_exit;

template <typename Exception, typename Call>
void expect(const char* what, Call call) {
  try {
    call();
  } catch (const Exception&) {
    return;
  } catch (const std::exception& other) {
    std::printf("%s: another exception: %s\n", what, other.what());
    std::exit(1);
  }
  std::printf("%s: no exception\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  expect<autotune::UsageError>("UsageError", [] { autotune::Configuration::parse("A"); });
  expect<autotune::Error>("Error", [] { static_cast<void>(autotune::math_from_string("none")); });
  expect<autotune::StorageError>("StorageError", [] {
    const autotune::Library library(
        {.device = autotune::Device::cpu(), .database = "/dev/null/autotune.db"});
    static_cast<void>(library.query({.m = 1, .n = 1, .k = 1}));
  });
  if (before_main.empty() || before_main != winner_before_main()) {
    std::printf("before main() the configuration was '%s'\n", before_main.c_str());
    return 1;
  }
  std::puts("caught by type");
}
