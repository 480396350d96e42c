// The starting points of searches: earlier winners, the nearest first.
#include "tuner/run/warm_start.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "db/shipped_winners.hpp"
#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/search_task.hpp"
#include "tuner/run/setup.hpp"

namespace autotune::test {
namespace {

Winner won(const std::string& device_class, const Problem& problem, int x) {
  Winner winner;
  winner.device_class = device_class;
  winner.device_label = "label of " + device_class;
  winner.problem = problem;
  winner.template_name = "fake";
  winner.space_version = 1;
  winner.configuration = Configuration({{"A", 1}, {"X", x}});  // as JSON orders them
  return winner;
}

constexpr int kDefault = 2;  // the X of the template's default, whose A is 2

}  // namespace

TEST_SUITE("starting points") {
  TEST_CASE("the winner of the same problem on the same device class comes first and is marked") {
    const KernelTemplate kernel = fake_template();
    const CandidateSpace space(kernel, kernel.space.enumerate({}).configurations);
    const std::vector<Winner> winners = {won("other", kSmall, 1), won("this", kLarge, 2),
                                         won("this", kSmall, 3), won("other", kSmall, 3)};
    const auto points = warm_starts(kSmall, "this", space, winners);
    REQUIRE(points.size() == 4);
    const auto is = [&](std::size_t i, int x, bool won_here) {
      CHECK(points[i].configuration.at("X") == x);
      CHECK(points[i].won_here == won_here);
    };
    is(0, 3, true);
    is(1, kDefault, false);
    is(2, 2, false);  // a device that is not like this one comes last
    is(3, 1, false);
  }

  TEST_CASE("suggestions come after the own winner and before those of other problems") {
    const KernelTemplate kernel = fake_template();
    const KernelTemplate other = fake_template();
    const CandidateSpace space(kernel, kernel.space.enumerate({}).configurations);
    const std::vector<Winner> winners = {won("this", kLarge, 1), won("this", kSmall, 2)};
    std::vector<Suggestion> suggestions = {{&other, Configuration({{"X", 3}, {"A", 4}})}};
    for (int x = 2; x <= 8; ++x) {
      suggestions.push_back({&kernel, Configuration({{"X", x}, {"A", 1}})});
    }
    std::vector<std::int64_t> order;
    for (const WarmStart& point : warm_starts(kSmall, "this", space, winners, suggestions)) {
      order.push_back(point.configuration.at("X"));
    }
    // Five with the own winner, then the default.
    CHECK(order == std::vector<std::int64_t>{2, 3, 4, 5, 6, kDefault, 1});
  }

  TEST_CASE("winners of like devices come before those of others, however near their problem is") {
    const KernelTemplate kernel = fake_template();
    const CandidateSpace space(kernel, kernel.space.enumerate({}).configurations);
    const Problem far = GemmProblem{.m = 4096, .n = 4096, .k = 4096};
    const std::vector<Winner> winners = {
        won("sm_90/40sm/l2-1", kSmall, 1), won("sm_80/132sm/l2-1", kSmall, 2),
        won("sm_90/114sm/l2-1", far, 3), won("sm_90/114sm/l2-1", kLarge, 4),
        won("sm_90/132sm/l2-1", kLarge, 5)};
    const auto points = warm_starts(kSmall, "sm_90/132sm/l2-1", space, winners);
    std::vector<std::int64_t> order;
    for (const WarmStart& point : points) order.push_back(point.configuration.at("X"));
    CHECK(order == std::vector<std::int64_t>{kDefault, 5, 4, 3, 1, 2});
    CHECK(points[1].other_device.empty());
    CHECK(points[2].other_device == "label of sm_90/114sm/l2-1");
  }

  TEST_CASE("winners of other templates, interfaces and spaces are left out, and more than nine") {
    const KernelTemplate kernel = fake_template();
    const CandidateSpace space(kernel, kernel.space.enumerate({}).configurations);
    Winner other = won("this", kSmall, 1);
    other.template_name = "another";
    Winner older = won("this", kSmall, 2);
    older.space_version = 0;
    CHECK(warm_starts(kSmall, "this", space, std::vector{other, older}).size() == 1);
    CHECK(warm_starts(kSmall, "this", space, std::vector{won("this", kSmall, 11)}).size() == 1);
    std::vector<Winner> many;
    for (int x = 1; x <= 10; ++x) many.push_back(won("this", kSmall, x));
    CHECK(warm_starts(kSmall, "this", space, many).size() == 9);
  }

  TEST_CASE("a search begins with winners that ship unless they are left out") {
    const std::vector<const Winner*> winners = shipped_winners({});
    const auto found = std::find_if(winners.begin(), winners.end(), [](const Winner* winner) {
      const KernelTemplate& simt = *built_in_kernels().find("gemm_simt");
      return winner->template_name == simt.name && !(simt.space.validated(winner->configuration) ==
                                                     simt.default_configuration(winner->problem));
    });
    REQUIRE(found != winners.end());
    const Winner* const shipped = *found;
    for (const bool use_shipped : {true, false}) {
      CAPTURE(use_shipped);
      TuneFixture f;
      f.script->measure = [](const MeasureRequest&) {
        return WorkerOutcome(WorkerReply(measured(10)));
      };
      f.request.problems = {shipped->problem};
      f.request.templates = {built_in_kernels().find("gemm_simt")};
      f.request.strategy = "random";
      f.request.budget.trials = 12;
      f.request.use_shipped_winners = use_shipped;
      const TuneReport report = f.run();
      CHECK(report.problems.front().began_with.contains(shipped->device_label) == use_shipped);
      const Configuration won =
          f.request.templates.front()->space.validated(shipped->configuration);
      const bool tried = std::any_of(f.seen.begin(), f.seen.end(), [&](const Trial& trial) {
        return trial.configuration == won;
      });
      CHECK(tried == use_shipped);
    }
  }
}

}  // namespace autotune::test
