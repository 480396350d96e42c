// Compile workers of the program itself against sources that need all memory there is.
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/posix/host_resources.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/support/computed_problem.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune::test {
namespace {

constexpr std::chrono::minutes kPlenty(2);

// `statement` 10 to the power of `tens` times, from a text that is short.
std::string repeated(const std::string& statement, int tens) {
  std::string source = "#define R0 " + statement + "\n";
  for (int i = 1; i <= tens; ++i) {
    source += "#define R" + std::to_string(i);
    for (int j = 0; j < 10; ++j) source += " R" + std::to_string(i - 1);
    source += "\n";
  }
  return source + "extern \"C\" __global__ void k(float* a, const float* b) { R" +
         std::to_string(tens) + " }\n";
}

// The outcome of compiling a source: the compiler's log, or how its worker ended.
std::string outcome(Worker& worker, const std::string& source,
                    const std::vector<std::string>& options) {
  const WorkerOutcome answer = worker.call(CompileRequest{"k", source, options}, kPlenty);
  if (const auto* failure = std::get_if<WorkerFailure>(&answer)) return failure->reason;
  const auto& reply = std::get<CompileReply>(std::get<WorkerReply>(answer));
  return reply.ok ? "compiled" : reply.log;
}

}  // namespace

TEST_SUITE("compile workers of the program") {
  TEST_CASE(
      "a compile bomb ends at the limit on memory with a reason, and the next kernel compiles") {
    const auto worker = make_process_worker(AUTOTUNE_PROGRAM, 0, kCompileMemoryBytes / 3);
    const auto about = std::get<WorkerReply>(worker->call(DescribeCompilerRequest{}, kPlenty));
    if (std::get<DescribeCompilerReply>(about).build.empty()) {
      std::printf("SKIPPED: no NVRTC\n");
      return;
    }
    const std::string bombs[] = {repeated("*a += 1;", 7),
                                 repeated("a[(int)*b] = fmaf(*a, *b, a[3]);", 5)};
    for (const std::string& bomb : bombs) {
      const std::string reason = outcome(*worker, bomb, {"-arch=sm_90"});
      CHECK_MESSAGE(reason.find("out of memory") != std::string::npos, reason.substr(0, 300));
    }
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      const GemmProblem large{.m = 4096, .n = 4096, .k = 4096};
      const Problem problem =
          autotune::test::computed_by(kernel, {large, {.m = 1, .n = 4096, .k = 4096}});
      const auto options = compile_options(kernel, kernel.default_configuration(problem),
                                           code_traits(kernel, problem), "sm_90");
      CAPTURE(kernel.name);
      CHECK(outcome(*worker, std::string(kernel.source), options) == "compiled");
    }
  }
}

}  // namespace autotune::test
