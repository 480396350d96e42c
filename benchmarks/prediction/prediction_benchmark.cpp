// Data for the prediction of configurations, and how well it does (docs/prediction.md).
//
//   prediction_benchmark collect trials.jsonl --seconds 240
//   prediction_benchmark features trials.jsonl features.jsonl
//   prediction_benchmark compare held_out.jsonl --shapes 48 --seconds-per-shape 10
//   prediction_benchmark speed
#include <cstddef>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "collect.hpp"
#include "compare.hpp"
#include "features.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/portfolio.hpp"
#include "speed.hpp"

int main(int argc, char** argv) {
  CLI::App app("Collects data for the prediction of configurations, and judges it.");
  app.require_subcommand(1);
  autotune::CollectOptions collect_options;
  CLI::App* const collect =
      app.add_subcommand("collect", "time many configurations on random shapes");
  collect->add_option("output", collect_options.output, "file to append to")->required();
  collect->add_option("--device", collect_options.device, "as autotune --device");
  std::string math = "strict";
  collect->add_option("--math", math, "of the products");
  collect->add_option("--db", collect_options.database, "whose winners are timed too");
  collect->add_option("--seconds", collect_options.seconds, "how long");
  collect->add_option("--seed", collect_options.seed, "of the shapes");
  collect->add_option("--spread", collect_options.spread,
                      "shapes whose best by the cost model are timed");
  collect->add_option("--shapes", collect_options.most_shapes, "at most");
  std::string trials;
  std::string features_output;
  CLI::App* const features =
      app.add_subcommand("features", "add to trials what the trees are fitted to");
  features->add_option("trials", trials, "file of collect")->required();
  features->add_option("output", features_output, "file to write")->required();
  autotune::CompareOptions compare_options;
  CLI::App* const compare = app.add_subcommand("compare", "judge predictions on other shapes");
  compare->add_option("output", compare_options.output, "file to append to")->required();
  compare->add_option("--from", compare_options.earlier,
                      "output of an earlier run: its shapes, without another search");
  compare->add_option("--device", compare_options.device, "as autotune --device");
  compare->add_option("--math", math, "of the products");
  compare->add_option("--shapes", compare_options.shapes, "how many");
  compare->add_option("--seconds-per-shape", compare_options.seconds_per_shape, "of tuning");
  compare->add_option("--seed", compare_options.seed, "of the shapes");
  compare->add_option("--rounds", compare_options.rounds, "samples of each");
  std::string part;
  compare->add_option("--part", part, "I/N: every Nth shape, from the Ith of 1 to N");
  CLI::App* const speed = app.add_subcommand("speed", "print the processor time of a prediction");
  speed->add_option("--math", math, "of the products");
  CLI11_PARSE(app, argc, argv);
  try {
    collect_options.math = compare_options.math = autotune::math_from_string(math);
    if (!part.empty()) {
      const std::size_t slash = part.find('/');
      if (slash == std::string::npos) throw autotune::UsageError("--part is I/N, as in 1/3");
      compare_options.part = std::stoul(part) - 1;
      compare_options.parts = std::stoul(part.substr(slash + 1));
      if (compare_options.part >= compare_options.parts) {
        throw autotune::UsageError("--part is I/N with I from 1 to N");
      }
    }
    const autotune::ShippedPortfolios portfolios(autotune::built_in_kernels());
    if (compare->parsed()) autotune::compare(portfolios, compare_options);
    if (features->parsed()) autotune::write_features(portfolios.kernels(), trials, features_output);
    if (speed->parsed())
      autotune::print_prediction_speed(portfolios, autotune::math_from_string(math));
    if (collect->parsed()) autotune::collect(portfolios, collect_options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "prediction_benchmark: {}\n", error.what());
    return 1;
  }
  return 0;
}
