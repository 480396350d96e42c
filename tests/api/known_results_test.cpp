// Which of the results that are known for a GPU a Library answers with.
#include <tuple>

#include <doctest/doctest.h>

#include "autotune/autotune.h"
#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("known results on a GPU") {
  TEST_CASE(
      "a limit of the error asks for what is known, in the problem's math or a stricter one") {
    const Machine machine;
    const auto with_math = [](Math math) {
      return GemmProblem{.m = 512, .n = 512, .k = 512, .math = math};
    };
    TuningDatabase database = TuningDatabase::open(machine.storage.database());
    for (const auto& [math, us, error] :
         {std::tuple(Math::strict, 100.0, 5e-7), std::tuple(Math::emulated, 50.0, 2e-7),
          std::tuple(Math::tf32, 10.0, 3e-4)}) {
      const char* const name = math == Math::strict ? "gemm_simt" : "gemm_tf32";
      Winner winner =
          winner_of(*built_in_kernels().find(name), with_math(math), choose_device("0").device);
      winner.median_us = winner.low_us = winner.high_us = us;
      winner.verification = {.error_bound = 100, .frobenius_error = error};
      if (math == Math::tf32) {
        winner.baseline = {"cublas", "13.1.0", 2,    12,   11.5,
                           12.5,     1.2,      1.15, 1.25, "2026-11-21T05:40:44Z"};
      }
      if (math == Math::strict) winner.baseline = {.library = "cublas", .median_us = 120};
      database.put_winners({&winner, 1});
    }
    const Library library;
    const auto answer = [&](Math math, double max_error) {
      return library.query(with_math(math), {.max_error = max_error});
    };
    CHECK(answer(Math::tf32, 1e-6).tuned_for == with_math(Math::emulated));
    CHECK(answer(Math::tf32, 1e-6).median_us == 50);
    CHECK(answer(Math::tf32, 1e-6).match == MatchKind::exact);
    CHECK(answer(Math::tf32, 1e-3).tuned_for == with_math(Math::tf32));
    REQUIRE(answer(Math::tf32, 1e-3).baseline);
    CHECK(answer(Math::tf32, 1e-3).baseline->version == "13.1.0");
    CHECK(answer(Math::tf32, 1e-3).baseline->speedup_low == 1.15);
    CHECK_FALSE(answer(Math::tf32, 1e-6).baseline);
    CHECK(answer(Math::emulated, 1e-3).tuned_for == with_math(Math::emulated));
    CHECK(answer(Math::strict, 1e-3).tuned_for == with_math(Math::strict));
    CHECK_THROWS_WITH_AS(static_cast<void>(answer(Math::tf32, 1e-9)),
                         doctest::Contains("nothing with an error of at most 1e-09 is known for "
                                           "512x512x512 on NVIDIA H200"),
                         NotTunedError);
    for (const double wrong : {0.0, 1.0, -1e-6}) {
      CHECK_THROWS_AS(static_cast<void>(answer(Math::tf32, wrong)), UsageError);
    }

    // The same by the C interface.
    autotune_library* opened = nullptr;
    REQUIRE(autotune_open(nullptr, &opened) == AUTOTUNE_OK);
    autotune_problem problem{};
    problem.size = sizeof problem;
    problem.m = problem.n = problem.k = 512;
    problem.math = AUTOTUNE_TF32;
    autotune_choice choice{};
    choice.size = sizeof choice;
    REQUIRE(autotune_query_within(opened, &problem, 1e-3, &choice) == AUTOTUNE_OK);
    CHECK(choice.tuned_math == AUTOTUNE_TF32);
    CHECK(std::string(choice.baseline) == "cublas 13.1.0");
    CHECK(choice.baseline_us == 12);
    CHECK(choice.speedup_high == 1.25);
    REQUIRE(autotune_query_within(opened, &problem, 1e-6, &choice) == AUTOTUNE_OK);
    CHECK(choice.tuned_math == AUTOTUNE_EMULATED);
    CHECK(std::string(choice.baseline).empty());
    CHECK(choice.median_us == 50);
    CHECK(autotune_query_within(opened, &problem, 1e-9, &choice) == AUTOTUNE_NOT_TUNED);
    problem.math = AUTOTUNE_STRICT;
    REQUIRE(autotune_query_within(opened, &problem, 1e-3, &choice) == AUTOTUNE_OK);
    CHECK(std::string(choice.baseline) == "cublas");  // of an unknown version
    CHECK(autotune_query_within(opened, &problem, 1e-3, nullptr) == AUTOTUNE_USAGE);
    choice.size = 8;
    CHECK(autotune_query_within(opened, &problem, 1e-3, &choice) == AUTOTUNE_USAGE);
    autotune_close(opened);
  }

  TEST_CASE("the best of a search that was cut short gives way to a better prediction") {
    Machine machine;
    machine.cuda.set_script("devices=2");  // an H200, for which a portfolio ships
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    const GemmProblem problem{2000, 2000, 2000};
    Winner winner = winner_of(kernel, problem, choose_device("0").device);
    const Library library;
    for (const bool confirmed : {false, true}) {
      for (const double us : {10.0, 1e6}) {
        CAPTURE(confirmed);
        CAPTURE(us);
        winner.confirmed = confirmed;
        winner.median_us = winner.low_us = winner.high_us = us;
        TuningDatabase::open(machine.storage.database()).put_winners({&winner, 1});
        const bool is_taken = confirmed || us == 10;
        CHECK(library.query(problem).match == (is_taken ? MatchKind::exact : MatchKind::predicted));
      }
    }
  }

  TEST_CASE("a weaker math takes a stricter one's kernel where that is faster") {
    Machine machine;
    machine.cuda.set_script("devices=2");
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_skinny");
    const GemmProblem strict{.m = 3, .n = 2000, .k = 2000};
    GemmProblem emulated = strict;
    emulated.math = Math::emulated;
    Winner winner = winner_of(kernel, strict, choose_device("0").device);
    winner.median_us = winner.low_us = winner.high_us = 1;
    TuningDatabase::open(machine.storage.database()).put_winners({&winner, 1});
    const Library library;
    const BestConfiguration best = library.query(emulated);
    CHECK(best.match == MatchKind::exact);
    CHECK(best.template_name == "gemm_skinny");
    CHECK(best.tuned_for == strict);

    // A faster one of its own math goes before it.
    const KernelTemplate& own = *built_in_kernels().find("gemm_tiled");
    Winner faster = winner_of(own, emulated, choose_device("0").device);
    faster.median_us = faster.low_us = faster.high_us = 0.5;
    TuningDatabase::open(machine.storage.database()).put_winners({&faster, 1});
    CHECK(library.query(emulated).tuned_for == emulated);
    CHECK(library.query(strict).tuned_for == strict);
  }
}

}  // namespace
}  // namespace autotune::test
