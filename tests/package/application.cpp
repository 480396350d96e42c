// An application that uses the library before main() and at exit, and catches by type the
// exceptions that the library throws.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <autotune/autotune.hpp>

namespace {

std::string winner() {
  const autotune::Library library({.device = autotune::Device::cpu()});
  return to_string(library.query({.m = 64, .n = 64, .k = 64}).configuration);
}

// 2 * 3 + 2 * 1.5
float multiplied_by(autotune::Library& library) {
  const float a[] = {2}, b[] = {3};
  float c[] = {1.5F};
  library.gemm({.m = 1, .n = 1, .k = 1}, 1, {a}, {b}, 2, {c});
  return c[0];
}

const std::string before_main = winner();

// Multiplies before main(), and among the last things that the process does.
struct AtExit {
  autotune::Library library{{.device = autotune::Device::cpu()}};
  const float product_before_main = multiplied_by(library);

  ~AtExit() {
    autotune::Library another({.device = autotune::Device::cpu()});
    const bool is_right = multiplied_by(library) == 9 && multiplied_by(another) == 9;
    const bool is_known = winner() == before_main;
    if (!is_right || !is_known) std::_Exit(1);
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
  if (before_main.empty() || before_main != winner()) {
    std::printf("before main() the configuration was '%s'\n", before_main.c_str());
    return 1;
  }
  if (at_exit.product_before_main != 9) {
    std::printf("before main() the product was %g, not 9\n",
                static_cast<double>(at_exit.product_before_main));
    return 1;
  }
  std::puts("caught by type");
}
