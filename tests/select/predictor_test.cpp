// Predictions from portfolios that the tests make.
#include "select/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/support/portfolios.hpp"

namespace autotune::test {
namespace {

constexpr const char* kH200 =
    "sm_90/132sm/l2-62914560/bus-6016/mem-3201000kHz/140GiB/shared-232448";
constexpr const char* kH100 = "sm_90/114sm/l2-52428800/bus-5120/mem-2619000kHz/80GiB/shared-232448";
constexpr const char* kA100 = "sm_80/108sm/l2-41943040/bus-5120/mem-1215000kHz/40GiB/shared-166912";
const GemmProblem kProblem{.m = 1000, .n = 1200, .k = 800};

// A template's default for some shape, and by how much its times differ from the cost model's.
struct Entry {
  std::string name;
  double off = 0;  // log(microseconds / cycles)
  bool in_portfolio = true;
  int version = built_in_kernels().find(name)->space_version;
};

// A tree that adds a value where a feature is above a threshold: all its questions are the same.
struct Tree {
  std::string feature;
  double threshold = 0.5;
  double value = 0;
};

std::string text_of(const std::vector<Entry>& entries, const std::vector<Tree>& more = {}) {
  std::vector<Tree> trees = more;
  for (const Entry& entry : entries) trees.push_back({entry.name, 0.5, entry.off});
  std::vector<std::string> features, thresholds, leaves, asked, errors;
  std::string rows;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    features.push_back("\"" + trees[i].feature + "\"");
    asked.insert(asked.end(), CorrectionTrees::kDepth, std::to_string(i));
    thresholds.insert(thresholds.end(), CorrectionTrees::kDepth,
                      fmt::format("{}", trees[i].threshold));
    leaves.insert(leaves.end(), CorrectionTrees::kLeaves - 1, "0");
    leaves.push_back(std::to_string(std::lround(1e4 * trees[i].value)));
  }
  for (const Entry& entry : entries) {
    errors.push_back(fmt::format(R"({{"template":"{}","space_version":{},"error":0.05}})",
                                 entry.name, entry.version));
    const Configuration configuration =
        built_in_kernels().find(entry.name)->default_configuration(kProblem);
    if (!entry.in_portfolio) continue;
    rows += fmt::format(R"({{"template":"{}","space_version":{},"configuration":"{}"}})"
                        "\n",
                        entry.name, entry.version, to_string(configuration));
  }
  const auto list = [](const std::vector<std::string>& items) {
    return fmt::format("{}", fmt::join(items, ","));
  };
  return fmt::format(
      R"({{"device_class":"{}","device_label":"NVIDIA H200","math":"strict"}})"
      "\n"
      R"({{"features":[{}],"measured":[[4,13],[4,13],[4,13]],"errors":[{}],"depth":6,"bias":0,)"
      R"("asked":[{}],"thresholds":[{}],"leaves":[{}]}})"
      "\n{}",
      kH200, list(features), list(errors), list(asked), list(thresholds), list(leaves), rows);
}

Portfolio portfolio_of(const std::vector<Entry>& entries, const std::vector<Tree>& more = {}) {
  return parse_portfolio(text_of(entries, more), built_in_kernels());
}

std::vector<Prediction> predict_on(const char* device_class, const Portfolio& portfolio,
                                   const GemmProblem& problem = kProblem,
                                   const std::vector<Winner>& known = {}) {
  return predict({.problem = problem,
                  .aligned = true,
                  .device = predicted_device(std::string(device_class)),
                  .known = known},
                 {&portfolio, 1});
}

const Prediction& of_template(const std::vector<Prediction>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Prediction& one) { return one.kernel->name == name; });
  REQUIRE(found != all.end());
  return *found;
}

Winner winner_of(const std::string& name, const GemmProblem& problem, double median_us) {
  const KernelTemplate& kernel = *built_in_kernels().find(name);
  Winner winner;
  winner.device_class = kH200;
  winner.problem = problem;
  winner.template_name = name;
  winner.configuration = kernel.default_configuration(kProblem);
  winner.median_us = median_us;
  return winner;
}

constexpr double kMean = -7.4;  // log(1 / 1640 MHz)

TEST_SUITE("predictor") {
  TEST_CASE("the same query has the same ranking, sorted by what is predicted") {
    const Portfolio portfolio =
        portfolio_of({{"gemm_tma", kMean}, {"gemm_simt", kMean}, {"gemm_tiled", -5.1, false}});
    const auto first = predict_on(kH200, portfolio);
    const auto second = predict_on(kH200, portfolio);
    REQUIRE(first.size() == second.size());
    REQUIRE(first.size() == 3);  // the portfolio, whose entries are defaults, and gemm_tiled's
    CHECK(predict_on(kH200, portfolio, kProblem, {winner_of("gemm_tma", kProblem, 1)}).size() == 3);
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(first[i].kernel == second[i].kernel);
      CHECK(first[i].configuration == second[i].configuration);
      CHECK(first[i].time_us == second[i].time_us);
      CHECK(first[i].time_us > 0);
      CHECK(first[i].error > 0);
      CHECK(first[i].error < 1);
    }
    CHECK(first.front().time_us < first.back().time_us);
  }

  TEST_CASE("a correction changes the time by its factor, and the choice with it") {
    const auto with_tma_off_by = [](double log) {
      return predict_on(kH200,
                        portfolio_of({{"gemm_tma", kMean + log}, {"gemm_simt", kMean + 0.5}}));
    };
    const auto before = with_tma_off_by(0);
    const auto after = with_tma_off_by(1);
    CHECK(before.front().kernel->name == "gemm_tma");
    CHECK(after.front().kernel->name == "gemm_simt");
    CHECK(of_template(after, "gemm_tma").time_us ==
          doctest::Approx(of_template(before, "gemm_tma").time_us * std::exp(1)));
    // Without a correction it is the cost model's.
    const double model_us =
        of_template(predict_on("sm_100/132sm/x", portfolio_of({{"gemm_tma", 5}})), "gemm_tma")
            .time_us;
    CHECK(of_template(before, "gemm_tma").time_us ==
          doctest::Approx(model_us * 1700 * std::exp(kMean)).epsilon(0.01));
  }

  TEST_CASE("corrections see the shape, its layout and alignment, and the configuration") {
    const GemmProblem wide{.m = 1000, .n = 4000, .k = 800};
    GemmProblem transposed = kProblem;
    transposed.op_b = Transpose::transposed;
    const auto ratio = [](const Tree& tree, const GemmProblem& problem) {
      const auto plain = predict_on(kH200, portfolio_of({{"gemm_tma", kMean}}), problem);
      const auto planted = predict_on(kH200, portfolio_of({{"gemm_tma", kMean}}, {tree}), problem);
      return of_template(planted, "gemm_tma").time_us / of_template(plain, "gemm_tma").time_us;
    };
    CHECK(ratio({"n", 11, 1}, wide) == doctest::Approx(std::exp(1)));
    CHECK(ratio({"n", 11, 1}, kProblem) == doctest::Approx(1));
    CHECK(ratio({"transposed_b", 0.5, 1}, transposed) == doctest::Approx(std::exp(1)));
    CHECK(ratio({"transposed_b", 0.5, 1}, kProblem) == doctest::Approx(1));
    CHECK(ratio({"aligned", 0.5, 1}, kProblem) == doctest::Approx(std::exp(1)));
    // STAGES of the default is 2 or more; FEW is a parameter of another template, and -1 here.
    CHECK(ratio({"STAGES", 1.5, 1}, kProblem) == doctest::Approx(std::exp(1)));
    CHECK(ratio({"FEW", -0.5, 1}, kProblem) == doctest::Approx(1));
    CHECK(ratio({"FEW", -1.5, 1}, kProblem) == doctest::Approx(std::exp(1)));
    CHECK(ratio({"a name that is gone", -0.5, 1}, kProblem) == doctest::Approx(std::exp(1)));
  }

  TEST_CASE("what is less like the measured shapes is less certain") {
    const Portfolio portfolio = portfolio_of({{"gemm_tma", kMean}});
    const auto error = [&](const char* device, const GemmProblem& problem) {
      return of_template(predict_on(device, portfolio, problem), "gemm_tma").error;
    };
    CHECK(error(kH200, kProblem) == doctest::Approx(0.05));
    CHECK(error(kH200, {.m = 8192, .n = 8192, .k = 8192}) == doctest::Approx(0.05));
    CHECK(error(kH200, {.m = 64, .n = 64, .k = 1'000'000}) > 0.2);
    CHECK(error(kH200, {.m = 8, .n = 8192, .k = 64}) > 0.1);
    CHECK(error(kH100, kProblem) > error(kH200, kProblem));
    CHECK(error("sm_100/148sm/x", kProblem) > error(kH100, kProblem));
  }

  TEST_CASE("a template that was not measured is no candidate by its default") {
    const auto all = predict_on(kH200, portfolio_of({{"gemm_tma", kMean}}));
    for (const Prediction& one : all) CHECK(one.kernel->name == "gemm_tma");
  }

  TEST_CASE("a like device is corrected as the measured one, another by the model alone") {
    const Portfolio portfolio = portfolio_of({{"gemm_tma", kMean + 3}, {"gemm_simt", kMean}});
    const auto fastest_us = [](const std::vector<Prediction>& all) { return all.front().time_us; };
    const auto like = predict_on(kH100, portfolio);
    CHECK(like.front().evidence == Evidence::like_device);
    CHECK(like.front().kernel->name != "gemm_tma");
    const auto other = predict_on(kA100, portfolio);
    for (const Prediction& one : other) CHECK(one.evidence == Evidence::model);
    // By the model the two are about as fast.
    const auto blackwell = predict_on("sm_100/148sm/x", portfolio);
    CHECK(of_template(blackwell, "gemm_tma").evidence == Evidence::model);
    CHECK(of_template(blackwell, "gemm_tma").time_us < 2 * fastest_us(blackwell));
    CHECK(of_template(like, "gemm_tma").time_us > 5 * fastest_us(like));
  }

  TEST_CASE("templates that cannot run are no candidates") {
    const Portfolio portfolio =
        portfolio_of({{"gemm_tma", kMean}, {"gemm_simt", kMean}, {"gemm_skinny", kMean}});
    for (const Prediction& one : predict_on(kA100, portfolio))
      CHECK(one.kernel->name != "gemm_tma");
    for (const GemmProblem& problem :
         {GemmProblem{.m = 1001, .n = 1003, .k = 77}, GemmProblem{.m = 33, .n = 5001, .k = 1}}) {
      for (const Prediction& one : predict_on(kH200, portfolio, problem)) {
        CHECK(computes(*one.kernel, problem));
        CHECK(one.kernel->name != "gemm_skinny");
      }
    }
    const auto few = predict_on(kH200, portfolio, {.m = 3, .n = 5001, .k = 999});
    CHECK(of_template(few, "gemm_skinny").time_us > 0);
  }

  TEST_CASE("nothing is predicted without a model of the device, or a portfolio of the math") {
    const Portfolio portfolio = portfolio_of({{"gemm_tma", kMean}});
    CHECK(predict_on("sm_1/3sm/unknown", portfolio).empty());
    CHECK(predict_on("a device", portfolio).empty());
    GemmProblem emulated = kProblem;
    emulated.math = Math::emulated;
    CHECK(predict_on(kH200, portfolio, emulated).empty());
  }

  TEST_CASE("a winner's time corrects its configuration for shapes like its own") {
    const Portfolio portfolio = portfolio_of({{"gemm_tma", kMean}, {"gemm_simt", kMean + 0.5}});
    const GemmProblem tuned{.m = 1004, .n = 1200, .k = 800};
    const double expected = of_template(predict_on(kH200, portfolio, tuned), "gemm_simt").time_us;
    const auto fast =
        predict_on(kH200, portfolio, kProblem, {winner_of("gemm_simt", tuned, expected / 4)});
    CHECK(fast.front().kernel->name == "gemm_simt");
    CHECK(match_kind(fast.front()) == MatchKind::nearest_size);
    REQUIRE(fast.front().winner);
    CHECK(gemm_problem(fast.front().winner->problem) == tuned);
    CHECK(fast.front().time_us == doctest::Approx(expected / 4).epsilon(0.05));
    CHECK(fast.front().error < 0.05);
    // Of a far shape nothing follows.
    const GemmProblem far{.m = 16, .n = 8192, .k = 16};
    const double far_us = of_template(predict_on(kH200, portfolio, far), "gemm_simt").time_us;
    const auto same =
        predict_on(kH200, portfolio, kProblem, {winner_of("gemm_simt", far, far_us / 4)});
    CHECK(same.front().kernel->name == "gemm_tma");
    CHECK(match_kind(same.front()) == MatchKind::predicted);
  }

  TEST_CASE("on a device that nothing was fitted to, its winners tell how fast it is") {
    const Portfolio portfolio = portfolio_of({{"gemm_simt", kMean}, {"gemm_tiled", kMean}});
    const GemmProblem tuned{.m = 1004, .n = 1200, .k = 800};
    const double alone = of_template(predict_on(kA100, portfolio, tuned), "gemm_simt").time_us;
    const auto slow =
        predict_on(kA100, portfolio, kProblem, {winner_of("gemm_simt", tuned, 3 * alone)});
    const auto unknown = predict_on(kA100, portfolio);
    CHECK(of_template(slow, "gemm_tiled").time_us ==
          doctest::Approx(3 * of_template(unknown, "gemm_tiled").time_us));
  }

  TEST_CASE("a prediction says its time, its error and what it rests on") {
    const Portfolio portfolio = portfolio_of({{"gemm_tma", kMean - 1}});
    const std::string text = to_string(predict_on(kH200, portfolio).front());
    CHECK(text.find(" us +- ") != std::string::npos);
    CHECK(text.find(" %, the portfolio, corrected by trials of this device") != std::string::npos);
  }
}

TEST_SUITE("portfolio") {
  TEST_CASE("entries of other versions of a template's space are left out") {
    Entry old{"gemm_tma", kMean};
    old.version += 1;
    const Portfolio portfolio = portfolio_of({old, {"gemm_simt", kMean}});
    CHECK(portfolio.entries.size() == 1);
    CHECK(portfolio.errors.size() == 1);
  }

  TEST_CASE("texts of another form are refused") {
    const std::string text = text_of({{"gemm_tma", kMean}});
    const auto parse = [](const std::string& one) {
      return parse_portfolio(one, built_in_kernels());
    };
    CHECK(parse(text).entries.size() == 1);
    const auto with = [&](const std::string& part, const std::string& other) {
      std::string changed = text;
      changed.replace(text.find(part), part.size(), other);
      return changed;
    };
    CHECK_THROWS_AS(parse("nothing"), Error);
    CHECK_THROWS_AS(parse("{\"device_class\":1}"), Error);
    CHECK_THROWS_AS(parse(text.substr(0, text.find('\n') + 1)), Error);
    CHECK_THROWS_AS(parse(with("\"leaves\":[0,", "\"leaves\":[")), Error);
    CHECK_THROWS_AS(parse(with("\"leaves\":[0,", "\"leaves\":[0.5,")), Error);
    CHECK_THROWS_AS(parse(with("\"asked\":[0,", "\"asked\":[1,")), Error);
    CHECK_THROWS_AS(parse(with("\"asked\":[0,", "\"asked\":[-1,")), Error);
    CHECK_THROWS_AS(parse(with("\"depth\":6", "\"depth\":5")), Error);
    CHECK_THROWS_AS(parse(with("\"thresholds\":[0.5,", "\"thresholds\":[")), Error);
  }

  TEST_CASE("the portfolios that ship parse, have at most 64 entries that differ, and a device") {
    std::vector<Portfolio> all;
    for (const Math math : {Math::strict, Math::emulated, Math::tf32}) {
      const std::vector<Portfolio>& of_math = built_in_portfolios().of(math);
      all.insert(all.end(), of_math.begin(), of_math.end());
    }
    for (const Portfolio& portfolio : all) {
      CHECK(portfolio.entries.size() <= 64);
      CHECK_FALSE(portfolio.entries.empty());
      CHECK_FALSE(portfolio.device_class.empty());
      std::set<std::pair<const KernelTemplate*, Configuration>> seen;
      for (const PortfolioEntry& one : portfolio.entries) {
        CHECK(seen.emplace(one.kernel, one.configuration).second);
        CHECK(fits_device(*one.kernel, one.configuration,
                          predicted_device(portfolio.device_class).info));
      }
    }
  }
}

}  // namespace
}  // namespace autotune::test
