#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <unistd.h>

#include "cli/call_watch.hpp"
#include "cli/exit_codes.hpp"
#include "cli/program.hpp"

namespace {

std::terminate_handler usual = nullptr;

[[noreturn]] void end_without_memory() {
  constexpr char kLine[] = "autotune: there is not enough memory (see ulimit -v)\n";
  static_cast<void>(::write(STDERR_FILENO, kLine, sizeof kLine - 1) != 0);
  ::_exit(autotune::exit_code::kEnvironment);
}

// Less than an exception needs.
bool has_memory() {
  void* volatile const probe = std::malloc(64);
  return probe != nullptr;
}

// Ends the program with a line where memory ends and no exception can pass: before main(), while
// another exception is handled, or where there is no memory for the exception itself.
void end_program() {
  const auto error = std::current_exception();
  if (!error && !has_memory()) end_without_memory();
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (...) {
    usual();
  }
  usual();
}

// Runs before the initializers of other files, which need memory.
[[gnu::constructor(101)]] void prepare_end() {
  usual = std::set_terminate(end_program);
}

}  // namespace

int main(int argc, char** argv) {
  const int code = autotune::run_program(argc, argv);
  if (autotune::has_left_call_behind()) {
    std::fflush(stdout);
    ::_exit(code);
  }
  return code;
}
