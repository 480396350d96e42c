// The C API, above the C++ API.
#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>

#include "autotune/autotune.h"
#include "autotune/autotune.hpp"

#include "api/c_structures.hpp"
#include "core/error_text.hpp"

struct autotune_library {
  autotune::Library library;
};
struct autotune_kernel {
  autotune::Kernel kernel;
};
struct autotune_plan {
  autotune::GemmProblem problem;
  autotune::Plan plan;
};

namespace autotune {
namespace {

// The thread's last failure. Of fixed size, so that nothing is left to be freed with the thread.
struct LastError {
  char text[512];
  std::int32_t cuda_result;
};
thread_local constinit LastError last_error{};

autotune_status fail(autotune_status status, const char* text, int cuda_result = 0) noexcept {
  copy_text(text, last_error.text, sizeof last_error.text);
  last_error.cuda_result = cuda_result;
  return status;
}

// Calls a function, and turns what it throws into a status.
template <typename Function>
autotune_status guarded(Function function) noexcept try {
  function();
  return AUTOTUNE_OK;
} catch (const Error& error) {
  return fail(static_cast<autotune_status>(error.code()), error.what(), error.cuda_result());
} catch (const std::bad_alloc&) {
  return fail(AUTOTUNE_NO_MEMORY, "the process has no memory left");
} catch (const std::exception& error) {
  return fail(is_lack_of_threads(error) ? AUTOTUNE_ENVIRONMENT : AUTOTUNE_INTERNAL,
              error_text(error));
} catch (...) {
  return fail(AUTOTUNE_INTERNAL, "a foreign exception");
}

}  // namespace
}  // namespace autotune

using namespace autotune;

uint32_t autotune_version(void) {
  unsigned parts[3] = {};
  std::size_t part = 0;
  for (const char* at = library_version(); *at != 0; ++at) {
    if (*at == '.') {
      ++part;
    } else {
      parts[part] = 10 * parts[part] + static_cast<unsigned>(*at - '0');
    }
  }
  return 10000 * parts[0] + 100 * parts[1] + parts[2];
}

const char* autotune_last_error(void) {
  return last_error.text;
}

int32_t autotune_last_cuda_result(void) {
  return last_error.cuda_result;
}

autotune_status autotune_open(const autotune_options* options, autotune_library** library) {
  return guarded([&] {
    autotune_library*& result = given(library, "library");
    result = new autotune_library{Library(options_of(options))};
  });
}

void autotune_close(autotune_library* library) {
  delete library;
}

autotune_status autotune_stop_background(autotune_library* library) {
  return guarded([&] { given(library, "library").library.stop_background(); });
}

autotune_status autotune_gemm(autotune_library* library, const autotune_gemm_call* call) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    const CCall asked = call_of(call);
    const MatchKind kind = of.gemm(asked.problem, asked.arguments);
    if (asked.match != nullptr) *asked.match = static_cast<int32_t>(kind);
  });
}

autotune_status autotune_try_gemm(autotune_library* library, const autotune_gemm_call* call) {
  Outcome outcome = Outcome::refused;
  const autotune_status status = guarded([&] {
    Library& of = given(library, "library").library;
    const CCall asked = call_of(call);
    outcome = of.try_gemm(asked.problem, asked.arguments);
  });
  if (status != AUTOTUNE_OK || outcome == Outcome::done) return status;
  return outcome == Outcome::not_ready
             ? fail(AUTOTUNE_NOT_READY, "the product is not ready: call autotune_gemm() first")
             : fail(AUTOTUNE_REFUSED, "the product is refused: autotune_gemm() says why");
}

autotune_status autotune_prepare(autotune_library* library, const autotune_problem* problem,
                                 autotune_stream stream) {
  return guarded([&] { given(library, "library").library.prepare(problem_of(problem), stream); });
}

autotune_status autotune_release(autotune_library* library, autotune_stream stream) {
  return guarded([&] { given(library, "library").library.release(stream); });
}

autotune_status autotune_trim(autotune_library* library, size_t keep_bytes) {
  return guarded([&] { given(library, "library").library.trim(keep_bytes); });
}

autotune_status autotune_plan_create(autotune_library* library, const autotune_problem* problem,
                                     int32_t flags, autotune_plan** plan) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    autotune_plan*& result = given(plan, "plan");
    const GemmProblem asked = problem_of(problem);
    constexpr int32_t kAll = AUTOTUNE_ALIGNED | AUTOTUNE_SCALARS_IN_MEMORY;
    if (flags < 0 || flags > kAll) {
      throw UsageError(fmt::format("flags is {}: it must be from 0 to {}", flags, kAll));
    }
    const Alignment alignment =
        (flags & AUTOTUNE_ALIGNED) != 0 ? Alignment::of_16_bytes : Alignment::any;
    const PointerMode scalars =
        (flags & AUTOTUNE_SCALARS_IN_MEMORY) != 0 ? PointerMode::device : PointerMode::host;
    result = new autotune_plan{asked, of.plan(asked, alignment, scalars)};
  });
}

void autotune_plan_destroy(autotune_plan* plan) {
  delete plan;
}

autotune_status autotune_plan_workspace_bytes(const autotune_plan* plan, size_t* bytes) {
  return guarded([&] {
    const Plan& of = given(plan, "plan").plan;
    given(bytes, "bytes") = of.workspace_bytes();
  });
}

autotune_status autotune_plan_run(const autotune_plan* plan, const autotune_gemm_call* call) {
  return guarded([&] {
    const auto& [problem, of] = given(plan, "plan");
    const CCall asked = call_of(call, &problem);
    of(asked.arguments);
    if (asked.match != nullptr) *asked.match = static_cast<int32_t>(of.match());
  });
}

autotune_status autotune_prepare_operand(autotune_library* library, const autotune_problem* problem,
                                         int32_t which, const autotune_matrix* matrix,
                                         autotune_stream stream, autotune_prepared** prepared) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    autotune_prepared*& result = given(prepared, "prepared");
    const PreparedMatrix made =
        of.prepare_operand(problem_of(problem), enumerator<Operand>(which),
                           matrix_of(given(matrix, "matrix"), "matrix"), stream);
    result = new autotune_prepared{made};
  });
}

void autotune_prepared_destroy(autotune_prepared* prepared) {
  delete prepared;
}

autotune_status autotune_query(autotune_library* library, const autotune_problem* problem,
                               autotune_choice* choice) {
  return guarded([&] {
    const Library& of = given(library, "library").library;
    check_size<autotune_choice>(given(choice, "choice").size, "choice");
    write_choice(of.query(problem_of(problem)), *choice);
  });
}

autotune_status autotune_query_within(autotune_library* library, const autotune_problem* problem,
                                      double max_error, autotune_choice* choice) {
  return guarded([&] {
    const Library& of = given(library, "library").library;
    check_size<autotune_choice>(given(choice, "choice").size, "choice");
    write_choice(of.query(problem_of(problem), {.max_error = max_error}), *choice);
  });
}

autotune_status autotune_plan_query(const autotune_plan* plan, autotune_choice* choice) {
  return guarded([&] {
    const Plan& of = given(plan, "plan").plan;
    check_size<autotune_choice>(given(choice, "choice").size, "choice");
    write_choice(of.choice(), *choice);
  });
}

autotune_status autotune_device_name(autotune_library* library, char* name, size_t size) {
  return guarded([&] {
    const Library& of = given(library, "library").library;
    if (size == 0) throw UsageError("size is 0: there is no room for a name");
    copy_text(of.device_name(), &given(name, "name"), size);
  });
}

autotune_status autotune_tune(autotune_library* library, const autotune_problem* problems,
                              size_t count, const autotune_tune_options* options,
                              autotune_tune_result* result) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    if (result != nullptr) check_size<autotune_tune_result>(result->size, "result");
    const TuningResult tuned = of.tune(problems_of(problems, count), tuning_options_of(options));
    const auto has_winner = [](const TunedProblem& one) { return one.winner.has_value(); };
    const auto winners = std::ranges::count_if(tuned.problems, has_winner);
    if (result != nullptr) write_result(tuned, winners, *result);
  });
}

autotune_status autotune_kernel_open(autotune_library* library,
                                     const autotune_kernel_source* source,
                                     autotune_kernel** kernel) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    autotune_kernel*& result = given(kernel, "kernel");
    result = new autotune_kernel{of.kernel(source_of(source))};
  });
}

void autotune_kernel_close(autotune_kernel* kernel) {
  delete kernel;
}

autotune_status autotune_kernel_tune(autotune_kernel* kernel, const autotune_kernel_size* sizes,
                                     size_t count, const autotune_tune_options* options,
                                     autotune_tune_result* result) {
  return guarded([&] {
    Kernel& of = given(kernel, "kernel").kernel;
    if (result != nullptr) check_size<autotune_tune_result>(result->size, "result");
    const KernelTuningResult tuned = of.tune({sizes_of(sizes, count)}, tuning_options_of(options));
    if (result != nullptr) write_result(tuned, tuned.problems.front().winner ? 1 : 0, *result);
  });
}

autotune_status autotune_kernel_query(autotune_kernel* kernel, const autotune_kernel_size* sizes,
                                      size_t count, autotune_choice* choice) {
  return guarded([&] {
    const Kernel& of = given(kernel, "kernel").kernel;
    check_size<autotune_choice>(given(choice, "choice").size, "choice");
    write_choice(of.query(sizes_of(sizes, count)), of.name(), *choice);
  });
}

autotune_status autotune_kernel_argument_at(autotune_kernel* kernel,
                                            const autotune_kernel_size* sizes, size_t count,
                                            size_t index, autotune_kernel_argument* argument) {
  return guarded([&] {
    const Kernel& of = given(kernel, "kernel").kernel;
    check_size<autotune_kernel_argument>(given(argument, "argument").size, "argument");
    const std::vector<ArgumentDescription> all = of.arguments(sizes_of(sizes, count));
    if (index >= all.size()) {
      throw UsageError(
          fmt::format("index is {}: {} has {} arguments", index, of.name(), all.size()));
    }
    write_argument(all[index], *argument);
  });
}

autotune_status autotune_kernel_launch(autotune_kernel* kernel, const autotune_kernel_size* sizes,
                                       size_t count, const autotune_launch_argument* arguments,
                                       size_t argument_count, autotune_stream stream) {
  return guarded([&] {
    Kernel& of = given(kernel, "kernel").kernel;
    const std::vector<LaunchArgument> values = arguments_of(arguments, argument_count);
    if (count == 0) {
      of.run(stream, values.data(), values.size());
    } else {
      of.run(sizes_of(sizes, count), stream, values.data(), values.size());
    }
  });
}
