// The C API, above the C++ API.
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
struct autotune_plan {
  autotune::Plan plan;
};
struct autotune_prepared {
  autotune::PreparedMatrix matrix;
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

Matrix matrix_of(const float* data, int64_t ld, const autotune_prepared* prepared) {
  return {data, ld, 0, prepared == nullptr ? nullptr : &prepared->matrix};
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

autotune_status autotune_gemm(autotune_library* library, const autotune_problem* problem,
                              float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
                              float beta, float* c, int64_t ldc, autotune_stream stream,
                              int32_t* match) {
  return guarded([&] {
    const MatchKind kind =
        given(library, "library")
            .library.gemm(problem_of(problem), alpha, {a, lda}, {b, ldb}, beta, {c, ldc}, stream);
    if (match != nullptr) *match = static_cast<int32_t>(kind);
  });
}

autotune_status autotune_gemm_strided_batched(autotune_library* library,
                                              const autotune_problem* problem, float alpha,
                                              const float* a, int64_t lda, int64_t stride_a,
                                              const float* b, int64_t ldb, int64_t stride_b,
                                              float beta, float* c, int64_t ldc, int64_t stride_c,
                                              autotune_stream stream, int32_t* match) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    const MatchKind kind = of.gemm(problem_of(problem), alpha, {a, lda, stride_a},
                                   {b, ldb, stride_b}, beta, {c, ldc, stride_c}, stream);
    if (match != nullptr) *match = static_cast<int32_t>(kind);
  });
}

autotune_status autotune_prepare(autotune_library* library, const autotune_problem* problem,
                                 autotune_stream stream) {
  return guarded([&] { given(library, "library").library.prepare(problem_of(problem), stream); });
}

autotune_status autotune_release(autotune_library* library, autotune_stream stream) {
  return guarded([&] { given(library, "library").library.release(stream); });
}

autotune_status autotune_plan_create(autotune_library* library, const autotune_problem* problem,
                                     int32_t aligned, autotune_plan** plan) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    autotune_plan*& result = given(plan, "plan");
    const GemmProblem asked = problem_of(problem);
    const Alignment alignment =
        truth_value(aligned, "aligned") ? Alignment::of_16_bytes : Alignment::any;
    result = new autotune_plan{of.plan(asked, alignment)};
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

autotune_status autotune_plan_run(const autotune_plan* plan, float alpha, const float* a,
                                  int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                                  int64_t ldc, autotune_stream stream, void* workspace,
                                  size_t workspace_bytes) {
  return guarded([&] {
    given(plan, "plan")
        .plan(alpha, {a, lda}, {b, ldb}, beta, {c, ldc}, stream, {workspace, workspace_bytes});
  });
}

autotune_status autotune_plan_run_strided_batched(const autotune_plan* plan, float alpha,
                                                  const float* a, int64_t lda, int64_t stride_a,
                                                  const float* b, int64_t ldb, int64_t stride_b,
                                                  float beta, float* c, int64_t ldc,
                                                  int64_t stride_c, autotune_stream stream,
                                                  void* workspace, size_t workspace_bytes) {
  return guarded([&] {
    given(plan, "plan")
        .plan(alpha, {a, lda, stride_a}, {b, ldb, stride_b}, beta, {c, ldc, stride_c}, stream,
              {workspace, workspace_bytes});
  });
}

autotune_status autotune_prepare_operand(autotune_library* library, const autotune_problem* problem,
                                         int32_t which, const float* matrix, int64_t ld,
                                         autotune_stream stream, autotune_prepared** prepared) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    autotune_prepared*& result = given(prepared, "prepared");
    const PreparedMatrix made =
        of.prepare_operand(problem_of(problem), enumerator<Operand>(which), {matrix, ld}, stream);
    result = new autotune_prepared{made};
  });
}

void autotune_prepared_destroy(autotune_prepared* prepared) {
  delete prepared;
}

autotune_status autotune_gemm_prepared(autotune_library* library, const autotune_problem* problem,
                                       float alpha, const float* a, int64_t lda,
                                       const autotune_prepared* prepared_a, const float* b,
                                       int64_t ldb, const autotune_prepared* prepared_b, float beta,
                                       float* c, int64_t ldc, autotune_stream stream,
                                       int32_t* match) {
  return guarded([&] {
    Library& of = given(library, "library").library;
    const MatchKind kind = of.gemm(problem_of(problem), alpha, matrix_of(a, lda, prepared_a),
                                   matrix_of(b, ldb, prepared_b), beta, {c, ldc}, stream);
    if (match != nullptr) *match = static_cast<int32_t>(kind);
  });
}

autotune_status autotune_plan_run_prepared(const autotune_plan* plan, float alpha, const float* a,
                                           int64_t lda, const autotune_prepared* prepared_a,
                                           const float* b, int64_t ldb,
                                           const autotune_prepared* prepared_b, float beta,
                                           float* c, int64_t ldc, autotune_stream stream,
                                           void* workspace, size_t workspace_bytes) {
  return guarded([&] {
    given(plan, "plan")
        .plan(alpha, matrix_of(a, lda, prepared_a), matrix_of(b, ldb, prepared_b), beta, {c, ldc},
              stream, {workspace, workspace_bytes});
  });
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
    if (result != nullptr) write_result(tuned, *result);
  });
}
