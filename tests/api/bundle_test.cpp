// A Library with a bundle, on a machine with two GPUs, no NVRTC, no database and no home.
#include <fstream>

#include <doctest/doctest.h>

#include "api/bundled_kernels.hpp"
#include "api/gemm_backend.hpp"
#include "core/hash.hpp"
#include "export/bundle/bundle_writer.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

const GemmProblem kOther{1600, 1604, 1600};

// What a bundle has of a problem: its template's default configuration, and code of these forms.
struct Item {
  GemmProblem problem;
  const char* kernel = "gemm_simt";
  MatchKind match = MatchKind::exact;
  bool aligned = true;
  bool any = true;
};

BundleContent content_of(const std::vector<Item>& items, const BundleTarget& target) {
  BundleContent content{.target = target, .compiler = "none", .choices = {}, .cubins = {}};
  const auto add_code = [&](const KernelTemplate& kernel, const Configuration& configuration,
                            const GemmProblem& problem, bool aligned) {
    content.cubins[bundled_key(kernel, configuration, traits_of(problem, aligned), "sm_90")] =
        "cubin of " + kernel.name;
  };
  for (const Item& item : items) {
    const KernelTemplate& kernel = *built_in_kernels().find(item.kernel);
    const Configuration configuration = kernel.default_configuration(item.problem);
    content.choices.push_back({item.problem, kernel.name, kernel.space_version, configuration,
                               item.match, "chosen by hand", item.problem, 5});
    if (item.aligned) add_code(kernel, configuration, item.problem, true);
    if (item.any) add_code(kernel, configuration, item.problem, false);
  }
  const KernelChoice scaling = scaling_choice(built_in_kernels(), /*batched=*/false);
  add_code(*scaling.kernel, scaling.best.configuration, kScaledProblem, false);
  return content;
}

// An application's machine with a bundle.
struct BundledMachine {
  TemporaryFolder folder;
  FakeCuda cuda{"devices=2"};
  Application application;
  // Nothing that is not in the bundle can be had.
  EnvironmentVariable no_nvrtc{"AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so"};
  EnvironmentVariable no_database{"AUTOTUNE_DB", "/dev/null/autotune.db"};
  EnvironmentVariable no_cache{"XDG_CACHE_HOME", "/dev/null/cache"};
  EnvironmentVariable no_home{"HOME", "/dev/null/home"};
  LibraryOptions options;

  explicit BundledMachine(const std::vector<Item>& items = {{kProblem}},
                          const BundleTarget& target = {"sm_90", "NVIDIA H200"}) {
    options.bundle = folder.path() / "app.bundle";
    write(bundle_bytes(content_of(items, target)));
  }
  void write(const std::string& bytes) const {
    std::ofstream(options.bundle, std::ios::binary) << bytes;
  }

  [[nodiscard]] std::string calls_of(Library& library, const GemmProblem& problem,
                                     const float* a = kMemory) const {
    static_cast<void>(application.take_calls());
    library.gemm(problem, 1, {a}, {kMemory}, 0, {kResult});
    return application.take_calls();
  }
};

TEST_SUITE("Library with a bundle") {
  TEST_CASE("it multiplies without compiler, database and home") {
    const BundledMachine machine;
    Library library(machine.options);
    for (const float* a : {kMemory, kMemory + 1}) {
      CHECK(has(machine.calls_of(library, kProblem, a), "cuModuleLoadData"));
      const std::string warm = machine.calls_of(library, kProblem, a);
      CHECK(has(warm, "cuLaunchKernelEx"));
      CHECK_FALSE(has(warm, "cuModuleLoadData"));
    }
    const BestConfiguration best = library.query(kProblem);
    CHECK(best.match == MatchKind::exact);
    CHECK(best.explanation == "chosen by hand; from the bundle");
    CHECK(best.median_us == 5);
    CHECK(Library(machine.options).plan(kProblem).match() == MatchKind::exact);
  }

  TEST_CASE("C is scaled alone too") {
    const BundledMachine machine;
    Library library(machine.options);
    library.gemm(kProblem, 0, {}, {}, 0.5f, {kResult});
    CHECK(has(machine.application.take_calls(), "cuLaunchKernelEx"));
  }

  TEST_CASE("another problem gets the nearest configuration that serves it") {
    const BundledMachine machine({{kProblem}, {kOther, "gemm_tma"}});
    Library library(machine.options);
    const BestConfiguration small = library.query({65, 49, 33});
    CHECK(small.template_name == "gemm_simt");
    CHECK(small.match == MatchKind::nearest_size);
    CHECK(small.tuned_for == kProblem);
    CHECK(small.explanation == "chosen in the bundle for 64x48x32, the nearest size");
    CHECK(library.query({1700, 1704, 1600}).template_name == "gemm_tma");
    CHECK(has(machine.calls_of(library, {65, 49, 33}), "cuLaunchKernelEx"));
    GemmProblem transposed = kProblem;
    set_layout(transposed, "TT");
    CHECK_THROWS_WITH_AS(static_cast<void>(library.prepare(transposed)),
                         doctest::Contains("app.bundle: has no kernel for 64x48x32 TT"),
                         EnvironmentError);
  }

  TEST_CASE("a guess stays a guess, and is refused where that is asked for") {
    BundledMachine machine({{.problem = kProblem, .match = MatchKind::predicted},
                            {.problem = kOther, .kernel = "gemm_tma"}});
    CHECK(Library(machine.options).query(kProblem).match == MatchKind::predicted);
    CHECK(Library(machine.options).query({65, 49, 33}).match == MatchKind::predicted);
    machine.options.miss = MissPolicy::refuse;
    Library strict(machine.options);
    CHECK_THROWS_AS(strict.prepare(kProblem), NotTunedError);
    CHECK(strict.prepare(kOther) == MatchKind::exact);
  }

  TEST_CASE("a configuration without code for the operands is passed over") {
    const BundledMachine machine({{.problem = kProblem, .any = false},
                                  {.problem = kOther, .kernel = "gemm_tma", .aligned = false}});
    Library library(machine.options);
    CHECK(has(machine.calls_of(library, kProblem), "cuLaunchKernelEx"));
    CHECK(library.plan(kProblem, Alignment::of_16_bytes).kernel() == "gemm_simt");
    CHECK(library.plan(kProblem, Alignment::any).kernel() == "gemm_tma");
    // Code for any operands serves aligned ones.
    CHECK(library.plan(kOther, Alignment::of_16_bytes).kernel() == "gemm_tma");
  }

  TEST_CASE("another device is refused, by both names") {
    BundledMachine machine({{kProblem}}, {"sm_90", "NVIDIA H100 PCIe"});
    const std::string begin = "bundle " + machine.options.bundle + ": is for ";
    const auto refusal = [&] {
      try {
        Library library(machine.options);
      } catch (const EnvironmentError& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    CHECK(refusal() == begin + "NVIDIA H100 PCIe (sm_90), not for NVIDIA H200 (sm_90)");
    machine.options.device = Device::gpu(1);
    CHECK(refusal() == begin + "NVIDIA H100 PCIe (sm_90), not for NVIDIA H200 (sm_90)");
    machine.write(bundle_bytes(content_of({{kProblem}}, {"sm_80", ""})));
    CHECK(refusal() == begin + "sm_80, not for NVIDIA H200 (sm_90)");
    machine.options.device = Device::cpu();
    CHECK(has(refusal(), begin + "sm_80, not for cpu: "));
    machine.options.device = Device::current();
    machine.write(bundle_bytes(content_of({{kProblem}}, {"sm_90", ""})));
    CHECK(refusal() == "");
  }

  TEST_CASE("a kernel that is damaged is never loaded, and others are") {
    const BundledMachine machine({{kProblem}, {kOther, "gemm_tma"}});
    const std::string bytes =
        bundle_bytes(content_of({{kProblem}, {kOther, "gemm_tma"}}, {"sm_90", "NVIDIA H200"}));
    const BundleHead head = read_bundle_head(bytes);
    int refused = 0;
    std::size_t at = head.bytes;
    for (const BundleIndex::Kernel& kernel : head.index.kernels) {
      std::string damaged = bytes;
      damaged[at + kernel.bytes / 2] ^= 1;
      at += kernel.bytes;
      machine.write(damaged);
      Library library(machine.options);
      for (const GemmProblem& problem : {kProblem, kOther}) {
        for (const float* a : {kMemory, kMemory + 1}) {
          try {
            const std::string calls = machine.calls_of(library, problem, a);
            CHECK(has(calls, "cuLaunchKernelEx"));
          } catch (const StorageError& error) {
            ++refused;
            CHECK(has(error.what(), "app.bundle: is damaged: a kernel is not what was written"));
            CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
          }
        }
      }
    }
    CHECK(head.index.kernels.size() == 5);
    CHECK(refused == 4);  // the fifth scales C
  }

  TEST_CASE("the file may be cut or go away under a running application") {
    const BundledMachine machine;
    Library library(machine.options);
    machine.write("");
    CHECK(has(machine.calls_of(library, kProblem), "cuLaunchKernelEx"));
    CHECK_THROWS_WITH_AS(Library{machine.options}, doctest::Contains("is not a bundle of autotune"),
                         StorageError);
  }

  TEST_CASE("code of another version of a template is not there") {
    BundleContent content = content_of({{kProblem}}, {"sm_90", ""});
    for (BundledChoice& choice : content.choices) ++choice.space_version;
    const BundledMachine machine;
    machine.write(bundle_bytes(content));
    Library library(machine.options);
    CHECK_THROWS_AS(static_cast<void>(library.prepare(kProblem)), EnvironmentError);
  }

  TEST_CASE("what a bundle cannot do is refused") {
    const BundledMachine machine;
    Library library(machine.options);
    CHECK_THROWS_WITH_AS(library.tune({kProblem}), "this Library has a bundle: one without tunes",
                         UsageError);
    LibraryOptions wrong = machine.options;
    wrong.database = "some.db";
    CHECK_THROWS_AS(Library{wrong}, UsageError);
    wrong = machine.options;
    wrong.miss = MissPolicy::tune;
    CHECK_THROWS_AS(Library{wrong}, UsageError);
  }
}

}  // namespace
}  // namespace autotune::test
