#include <exception>
#include <new>

#include <unistd.h>

#include "cli/exit_codes.hpp"
#include "cli/program.hpp"

namespace {

std::terminate_handler usual = nullptr;

// Ends the program with a line where memory ends and no exception can pass: before main(), or while
// another exception is handled.
void end_program() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    constexpr char kLine[] = "autotune: there is not enough memory (see ulimit -v)\n";
    if (::write(STDERR_FILENO, kLine, sizeof kLine - 1) != 0) {
      ::_exit(autotune::exit_code::kEnvironment);
    }
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
  return autotune::run_program(argc, argv);
}
