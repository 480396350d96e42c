// Source that is exported is compiled by nvcc to the arithmetic that autotune itself runs: the same
// floating-point instructions, as many of each. Its addresses differ, since nvcc counts those of
// shared memory in 32 bits and NVRTC in 64.
#include "export/source/source_export.hpp"

#include <cstdio>
#include <map>
#include <memory>
#include <regex>

#include <doctest/doctest.h>
#include <elf.h>

#include "autotune/error.hpp"

#include "export/source/gemm_text.hpp"
#include "gpu/nvrtc.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/support/computed_problem.hpp"
#include "tests/support/exported_problems.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

ProgramResult run_nvcc(std::vector<std::string> arguments) {
  return run_program(AUTOTUNE_NVCC, arguments, {});
}

// nullptr, with a note, where there is no nvcc of the version of this machine's NVRTC.
std::shared_ptr<const gpu::Nvrtc> open_compilers() {
  try {
    auto nvrtc = gpu::Nvrtc::open();
    const std::string version = nvrtc->build().substr(0, nvrtc->build().find(' '));
    const ProgramResult nvcc = run_nvcc({"--version"});
    if (nvcc.exit_code == 0 && nvcc.out.find("V" + version) != std::string::npos) return nvrtc;
    std::printf("SKIPPED: no nvcc %s\n", version.c_str());
  } catch (const EnvironmentError& error) {
    std::printf("SKIPPED: %s\n", error.what());
  }
  return nullptr;
}

SourceRequest request_for(const KernelTemplate& kernel, const GemmProblem& problem) {
  return {&kernel,   kernel.default_configuration(problem),
          problem,   "sm_90",
          "default", gemm_source_text(problem)};
}

// Writes the files; the path of one without its ending.
std::string written(const SourceRequest& request, const TemporaryFolder& folder) {
  for (const SourceFile& file : stand_alone_source(request)) {
    std::ofstream(folder.path() / file.name) << file.text;
  }
  return folder.path() / source_name(request.problem);
}

// The floating-point instructions of a kernel in PTX, with how many there are of each.
std::map<std::string, int> arithmetic(const std::string& ptx, const std::string& kernel) {
  const std::size_t begin = ptx.find(".entry " + kernel + "(");
  REQUIRE(begin != std::string::npos);
  const std::string body = ptx.substr(begin, ptx.find(".entry ", begin + 1) - begin);
  static const std::regex instruction(
      R"(\n[ \t]*((?:fma|mul|add|sub|rcp|cvt|wgmma)[.\w]*f(?:16|32)\b[.\w]*))");
  std::map<std::string, int> counts;
  for (std::sregex_iterator each(body.begin(), body.end(), instruction), end; each != end; ++each) {
    ++counts[each->str(1)];
  }
  return counts;
}

void check_same_kernel(const std::string& own, const std::string& kernel,
                       const std::string& exported, const std::string& name) {
  CAPTURE(name);
  const auto expected = arithmetic(own, kernel);
  CHECK(expected.size() > 1);
  CHECK(arithmetic(exported, name) == expected);
}

// `aligned`: the form of the kernel, which is `form` in the source.
void check_form(const gpu::Nvrtc& nvrtc, const SourceRequest& request, bool aligned,
                const std::string& exported, const std::string& form) {
  const KernelTemplate& kernel = *request.kernel;
  const CodeTraits traits{kernel.operation->code_macros(request.problem), aligned};
  std::vector<std::string> options =
      compile_options(kernel, request.configuration, traits, request.architecture);
  options.front().replace(options.front().find("sm_"), 3, "compute_");  // PTX alone
  const gpu::CompileResult own = nvrtc.compile(kernel.name, std::string(kernel.source), options);
  REQUIRE(own.ok);
  const std::string name = source_name(request.problem);
  check_same_kernel(own.ptx, kernel.name, exported, name + form);
  if (kernel.geometry(request.configuration, request.problem).preparation.blocks > 0) {
    check_same_kernel(own.ptx, kernel.name + "_prepare", exported, name + "_prepare");
  }
}

void check_same_arithmetic(const gpu::Nvrtc& nvrtc, const KernelTemplate& kernel,
                           const GemmProblem& problem) {
  CAPTURE(kernel.name);
  CAPTURE(problem.math);
  const SourceRequest request = request_for(kernel, problem);
  const TemporaryFolder folder;
  const std::string path = written(request, folder);
  std::vector<std::string> arguments = nvcc_options(request);
  arguments.insert(arguments.end(), {"-ptx", "-o", path + ".ptx", path + ".cu"});
  const ProgramResult nvcc = run_nvcc(arguments);
  CHECK_MESSAGE(nvcc.exit_code == 0, nvcc.err);
  const std::string exported = contents(path + ".ptx");
  if (!code_traits(kernel, problem).aligned) {
    check_form(nvrtc, request, false, exported, "_kernel");
    return;
  }
  check_form(nvrtc, request, true, exported, "_aligned");
  check_form(nvrtc, request, false, exported, "_any");
}

TEST_SUITE("exported source") {
  TEST_CASE("templates are compiled to autotune's arithmetic, for aligned tensors and others") {
    const auto nvrtc = open_compilers();
    if (!nvrtc) return;
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      const std::vector<GemmProblem> problems = exported_problems(kernel, /*batch=*/1);
      const GemmProblem of_16_bit =
          test::computed_by(kernel, {{1024, 1024, 1024}, {1, 1024, 1024}});
      // Kernels of 16-bit elements are not written as source.
      CHECK_MESSAGE(problems.empty() == (of_16_bit.types != GemmTypes()), kernel.name);
      for (const GemmProblem& problem : problems) check_same_arithmetic(*nvrtc, kernel, problem);
    }
  }
  TEST_CASE("templates that compute batches are compiled to autotune's arithmetic for them") {
    const auto nvrtc = open_compilers();
    if (!nvrtc) return;
    std::size_t checked = 0;
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      const std::vector<GemmProblem> problems = exported_problems(kernel, /*batch=*/3);
      for (const GemmProblem& problem : problems) check_same_arithmetic(*nvrtc, kernel, problem);
      checked += problems.size();
    }
    CHECK(checked > 0);
  }

  TEST_CASE("the test program builds without warnings and without the driver's library") {
    if (!open_compilers()) return;
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tma");
    for (const std::int64_t batch : {1, 3}) {
      CAPTURE(batch);
      // With tensor maps, a workspace and a number of blocks that is the device's.
      SourceRequest request = request_for(
          kernel, {.m = 512, .n = 512, .k = 1024, .op_a = Transpose::transposed, .batch = batch});
      request.configuration = Configuration::parse(
          "RESULTS_M=8,RESULTS_N=16,LANES_M=8,WARPS_M=2,WARPS_N=2,SLICE_K=1,BLOCK_K=32,UNROLL=8,"
          "STAGES=3,MIN_BLOCKS=2,SPLIT_K=0,CLUSTER=1,ORDER=0,REGISTER_LEVEL=3,RASTER=1");
      const TemporaryFolder folder;
      const std::string path = written(request, folder);
      // PTX alone takes a fraction of the time.
      const ProgramResult nvcc =
          run_nvcc({"-gencode=arch=compute_90a,code=compute_90a", "-Werror=all-warnings",
                    "-Xcompiler=-Wall,-Wextra,-Werror", path + ".cu", path + "_test.cpp", "-o",
                    path + "_test"});
      CHECK_MESSAGE(nvcc.exit_code == 0, nvcc.err);
      CHECK(nvcc.err == "");
      CHECK(std::filesystem::exists(path + "_test"));
    }
  }
}

}  // namespace
}  // namespace autotune::test
