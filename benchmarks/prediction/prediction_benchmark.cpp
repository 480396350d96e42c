// Data for the prediction of configurations, and how well it does (docs/prediction.md).
//
//   prediction_benchmark collect trials.jsonl --seconds 240
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "collect.hpp"

int main(int argc, char** argv) {
  CLI::App app("Collects data for the prediction of configurations, and judges it.");
  app.require_subcommand(1);
  autotune::CollectOptions collect_options;
  CLI::App* const collect =
      app.add_subcommand("collect", "time many configurations on random shapes");
  collect->add_option("output", collect_options.output, "file to append to")->required();
  collect->add_option("--device", collect_options.device, "as autotune --device");
  collect->add_option("--db", collect_options.database, "whose winners are timed too");
  collect->add_option("--seconds", collect_options.seconds, "how long");
  collect->add_option("--seed", collect_options.seed, "of the shapes");
  collect->add_option("--spread", collect_options.spread,
                      "shapes whose best by the cost model are timed");
  collect->add_option("--shapes", collect_options.most_shapes, "at most");
  CLI11_PARSE(app, argc, argv);
  try {
    if (collect->parsed()) autotune::collect(collect_options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "prediction_benchmark: {}\n", error.what());
    return 1;
  }
  return 0;
}
