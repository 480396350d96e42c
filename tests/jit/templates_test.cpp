// Every kernel template through the real NVRTC, for every architecture of the matrix: it compiles,
// keeps everything in registers and needs the shared memory that it says it does.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "core/occupancy.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/support/computed_problem.hpp"
#include "tests/support/planted_error.hpp"
#include "tuner/measure/gpu_service.hpp"

using autotune::CompileReply;
using autotune::Configuration;
using autotune::GemmProblem;
using autotune::KernelTemplate;
using autotune::test::as_computed_in_own_types;
using autotune::test::computed_by;

namespace {

constexpr GemmProblem kTiny{.m = 16, .n = 16, .k = 16};
constexpr GemmProblem kLarge{.m = 4096, .n = 4096, .k = 4096};
constexpr GemmProblem kFew{.m = 16, .n = 4096, .k = 4096};

// The compiler of this machine. Says in its first line why it is of no use, where it is none.
class Compiler {
 public:
  Compiler()
      : service_(autotune::make_gpu_service(0)),
        about_(std::get<autotune::DescribeCompilerReply>(
            service_->handle(autotune::DescribeCompilerRequest()))) {}

  // False, with a note, when it cannot compile for the architecture.
  bool usable(const std::string& architecture) const {
    const auto& known = about_.architectures;
    if (about_.build.empty()) {
      std::printf("SKIPPED: %s\n", about_.problem.c_str());
    } else if (std::find(known.begin(), known.end(), architecture) == known.end()) {
      std::printf("SKIPPED: NVRTC %s has no %s\n", about_.build.c_str(), architecture.c_str());
    } else {
      return true;
    }
    return false;
  }

  CompileReply compile(const KernelTemplate& kernel, std::vector<std::string> options) {
    return compile(kernel.name, std::string(kernel.source), std::move(options));
  }
  CompileReply compile(const std::string& name, std::string source,
                       std::vector<std::string> options) {
    return std::get<CompileReply>(service_->handle(autotune::CompileRequest{
        .name = name, .source = std::move(source), .options = std::move(options)}));
  }

 private:
  std::unique_ptr<autotune::WorkerService> service_;
  autotune::DescribeCompilerReply about_;
};

// Returns what a sample covers: every value of every parameter, or every pair of two such values.
std::vector<std::string> parts_of(const Configuration& configuration, bool in_pairs) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : configuration.entries()) {
    parts.push_back(name + "=" + std::to_string(value));
  }
  if (!in_pairs) return parts;
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) pairs.push_back(parts[j] + "," + parts[i]);
  }
  return pairs;
}

// Few of the configurations, in which all parts of all of them occur: the next one is always that
// with the most parts that did not occur before.
std::vector<Configuration> sample(const std::vector<Configuration>& all, bool in_pairs = false) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> parts(all.size());
  std::vector<std::size_t> left(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    left[i] = i;
    for (const std::string& part : parts_of(all[i], in_pairs)) {
      parts[i].push_back(numbers.try_emplace(part, numbers.size()).first->second);
    }
  }
  std::shuffle(left.begin(), left.end(), std::mt19937(1));
  std::vector<char> covered(numbers.size());
  const auto count_new = [&](std::size_t i) {
    return std::ranges::count_if(parts[i], [&](std::size_t part) { return covered[part] == 0; });
  };
  std::vector<Configuration> chosen;
  while (true) {
    // A configuration without a new part never has one later.
    std::erase_if(left, [&](std::size_t i) { return count_new(i) == 0; });
    if (left.empty()) return chosen;
    const std::size_t best = *std::ranges::max_element(left, {}, count_new);
    for (const std::size_t part : parts[best]) covered[part] = 1;
    chosen.push_back(all[best]);
  }
}

// Returns the blocks of an SM that the compiler leaves registers for.
std::int64_t blocks_of_sm(const Configuration& configuration) {
  for (const auto& [name, value] : configuration.entries()) {
    if (name == "MIN_BLOCKS") return value;
  }
  return 1;
}

void check_resources(const KernelTemplate& kernel, const Configuration& configuration,
                     const CompileReply& reply) {
  CAPTURE(reply.log);
  REQUIRE(reply.ok);
  const autotune::Resources& resources = reply.resources;
  CHECK(resources.registers > 0);
  const std::int64_t threads = kernel.geometry(configuration, kTiny).threads();
  CHECK(resources.registers * threads <= 65536);
  // Warps that take registers from others wait for ever unless the kernel starts with all it may.
  // They do so in whole groups of four, and where a block has other warps none does.
  if (kernel.architecture_specific && threads % 128 == 0) {
    const std::int64_t of_sm = blocks_of_sm(configuration) * threads;
    CHECK(resources.registers == std::min<std::int64_t>(65536 / of_sm / 8 * 8, 240));
  }
  CHECK(resources.cubin_bytes == static_cast<std::int64_t>(reply.cubin.size()));
  // A stack without spills is an array that was not kept in registers: of 16 bytes at least. For
  // sm_120 ptxas has a kernel with TMA store zeros to 8 bytes that nothing reads.
  CHECK((resources.stack_bytes <= 8 || resources.spill_bytes > 0));
}

// Compiles only a few configurations of large spaces for most architectures: ptxas takes long.
void compile_sample(const KernelTemplate& kernel, Compiler& compiler, const std::string& target) {
  std::vector<Configuration> usable = kernel.space.enumerate().configurations;
  const std::int64_t most_shared = autotune::sm_limits(target)->shared_per_block;
  std::erase_if(usable, [&](const Configuration& configuration) {
    return autotune::needed_capability(kernel, configuration) > std::stoi(target.substr(3)) ||
           kernel.geometry(configuration, kTiny).dynamic_shared_bytes > most_shared;
  });
  std::vector<Configuration> chosen = sample(usable);
  if (kernel.space.raw_count() > 100'000 && target != "sm_90")
    chosen.resize(std::min<std::size_t>(4, chosen.size()));
  autotune::CodeTraits traits = code_traits(kernel, computed_by(kernel, {kTiny, kLarge}));
  for (const Configuration& configuration : chosen) {
    CAPTURE(to_string(configuration));
    traits.aligned = !traits.aligned;  // by turns
    const CompileReply reply =
        compiler.compile(kernel, compile_options(kernel, configuration, traits, target));
    check_resources(kernel, configuration, reply);
    CHECK(reply.resources.shared_bytes == kernel.shared_bytes(configuration));
    std::printf("%s %s %s: %d registers, %d bytes spilled\n", target.c_str(), kernel.name.c_str(),
                to_string(configuration).c_str(), reply.resources.registers,
                static_cast<int>(reply.resources.spill_bytes));
  }
}

// In all layouts for one architecture, for the others in two that have each operand both ways.
void compile_defaults(const KernelTemplate& kernel, Compiler& compiler, const std::string& target) {
  std::vector<std::string> layouts = {"NN", "TT"};
  if (target == "sm_90") layouts = {"NN", "NT", "TN", "TT"};
  for (const GemmProblem& size : {kTiny, kLarge}) {
    for (const std::string& layout : layouts) {
      GemmProblem problem = size;
      set_layout(problem, layout);
      const auto computed = as_computed_in_own_types(kernel, problem);
      if (!computed) continue;
      const Configuration configuration = kernel.default_configuration(*computed);
      CAPTURE(to_string(*computed));
      const CompileReply reply = compiler.compile(
          kernel, compile_options(kernel, configuration, code_traits(kernel, *computed), target));
      check_resources(kernel, configuration, reply);
      CHECK((kernel.may_spill || reply.resources.spill_bytes == 0));
    }
  }
}

void compile_templates(const std::string& target) {
  Compiler compiler;
  if (!compiler.usable(target)) return;
  for (const KernelTemplate& kernel : autotune::built_in_kernels().templates()) {
    CAPTURE(kernel.name);
    if (!autotune::runs_on(kernel, std::stoi(target.substr(3)))) continue;
    // Siblings of sm_80, which ptxas treats much the same.
    if (target != "sm_86" && target != "sm_89") compile_sample(kernel, compiler, target);
    compile_defaults(kernel, compiler, target);
  }
}

}  // namespace

TEST_SUITE("templates") {
  TEST_CASE("templates compile for sm_75") {
    compile_templates("sm_75");
  }
  TEST_CASE("templates compile for sm_80") {
    compile_templates("sm_80");
  }
  TEST_CASE("templates compile for sm_86") {
    compile_templates("sm_86");
  }
  TEST_CASE("templates compile for sm_89") {
    compile_templates("sm_89");
  }
  TEST_CASE("templates compile for sm_90") {
    compile_templates("sm_90");
  }
  TEST_CASE("templates compile for sm_100") {
    compile_templates("sm_100");
  }
  TEST_CASE("templates compile for sm_120") {
    compile_templates("sm_120");
  }

  // Every pair of two parameters' values is compiled: all configurations take minutes.
  // ptxas waits for each matrix instruction where it has to move sums, and says so. The tuner
  // leaves out what spills, as one of these kernels does with NVRTC 13.5.
  TEST_CASE("kernels with wgmma keep their sums in place") {
    Compiler compiler;
    if (!compiler.usable("sm_90")) return;
    for (const char* name :
         {"gemm_fp16x1", "gemm_fp16x3", "gemm_tf32_wgmma", "gemm_wgmma", "gemm_wgmma_skinny"}) {
      const KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      std::map<std::string, Configuration> kernels;  // by what the compiler is given
      for (const Configuration& configuration : kernel.space.enumerate().configurations) {
        kernels.try_emplace(to_string(compiled_as(kernel, configuration)), configuration);
      }
      std::vector<Configuration> all;
      for (const auto& [compiled, configuration] : kernels) all.push_back(configuration);
      int turn = 0;
      for (const Configuration& configuration : sample(all, true)) {
        ++turn;
        std::set<std::vector<std::string>> ways;  // by the macros that K decides
        for (const std::int64_t k : {std::int64_t{128}, kLarge.k}) {
          GemmProblem problem = computed_by(kernel, {kLarge, kFew});
          problem.k = k;
          set_layout(problem, turn % 2 == 0 ? "NN" : "TT");
          const std::vector<std::string> options =
              compile_options(kernel, configuration, code_traits(kernel, problem), "sm_90");
          if (!ways.insert(options).second) continue;
          CAPTURE(kernel.name);
          CAPTURE(to_string(configuration));
          const CompileReply reply = compiler.compile(kernel, options);
          check_resources(kernel, configuration, reply);
          CHECK(reply.log.find("serialized") == std::string::npos);
        }
      }
    }
  }

  TEST_CASE("templates compile with their default macros, and types where they compute no FP32") {
    Compiler compiler;
    if (!compiler.usable("sm_90")) return;
    for (const KernelTemplate& kernel : autotune::built_in_kernels().templates()) {
      std::vector<std::string> options = {architecture_option(kernel, "sm_90"), "-Xptxas=-v"};
      for (const std::string& macro : code_macros(kernel, computed_by(kernel, {kLarge, kFew}))) {
        if (macro.starts_with("ELEMENT_")) options.push_back("-D" + macro);
      }
      const CompileReply reply = compiler.compile(kernel, options);
      CAPTURE(kernel.name);
      CAPTURE(reply.log);
      CHECK(reply.ok);
    }
  }

  TEST_CASE("an error is reported with the file and line that it stands in") {
    Compiler compiler;
    if (!compiler.usable("sm_90")) return;
    for (const autotune::test::PlantedError& error : autotune::test::planted_errors()) {
      CAPTURE(error.file);
      const CompileReply reply = compiler.compile("gemm_simt", error.source, {"-arch=sm_90"});
      CHECK_FALSE(reply.ok);
      CHECK_MESSAGE(reply.log.find(error.file + "(" + std::to_string(error.line) + "): error") !=
                        std::string::npos,
                    reply.log);
    }
  }
}
