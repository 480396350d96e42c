// Times gemm() with the best known configurations against cuBLAS SGEMM, with TF32 where the math is
// tf32, shape by shape, in one process: samples of both are taken in turn, round after round, so
// that what changes with time changes for both. Short products run in CUDA graphs, on both sides.
// cuBLAS is timed with the algorithm that it chooses and with the candidates of cublasLt's
// heuristic; the fastest counts.
//
//   gemm_vs_cublas --math emulated --sizes 1024,2048,16x4096x4096 --output results.json
//
// A shape that nothing exact is known for is tuned first. docs/performance.md says what is
// printed.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/autotune.hpp"
#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "cli/gemm_options.hpp"
#include "contender.hpp"
#include "core/statistics.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string sizes =
      "1024,2048,4096,8192,1600,3200,256,512,1000,1023,128x8192x1024,4096x4096x64,8192x128x4096,"
      "16x4096x4096,64x64x65536,1x4096x4096";
  std::vector<std::string> layouts = {"NN"};
  std::string math = "strict";
  std::string type = "f32";
  int rounds = 15;
  double sample_ms = 4;
  double budget_s = 30;
  double sustained_s = 0;
  std::string output;
};

// Contenders that are algorithms of cuBLAS, by their numbers.
using Algorithms = std::map<int, Contender>;

const Algorithms::value_type& fastest(const Algorithms& algorithms) {
  return *std::min_element(algorithms.begin(), algorithms.end(), [](const auto& a, const auto& b) {
    return median(a.second.samples()) < median(b.second.samples());
  });
}

// The time below which no kernel gets: by its multiply-adds or by the bytes it must move.
double floor_us(const Machine& machine, const GemmProblem& problem) {
  return std::max(problem.operations() / (machine.rates.fma_gflops * 1e3),
                  operand_bytes(problem) / (machine.rates.copy_gbps * 1e3));
}

ordered_json figures(const Contender& contender) {
  return {{"median_us", median(contender.samples())},
          {"mad_us", median_absolute_deviation(contender.samples())},
          {"samples_us", contender.samples()}};
}

class Comparison {
 public:
  Comparison(Machine& machine, const Options& options) : machine_(machine), options_(options) {}

  // Prints a line; gives the shape's part of the document.
  ordered_json run(const GemmProblem& problem) {
    if (machine_.library.query(problem).match != MatchKind::exact) {
      fmt::print(stderr, "tuning {} for {} s\n", to_string(problem), options_.budget_s);
      static_cast<void>(machine_.library.tune({problem}, {.budget_seconds = options_.budget_s}));
    }
    const Operands operands(machine_, problem);
    const auto product = [&](const Operands& o, int copy) {
      const GemmTypes& types = problem.types;
      machine_.library.gemm(problem, 1, {pointer(o.a(copy)), types.a, problem.lda()},
                            {pointer(o.b(copy)), types.b, problem.ldb()}, 0,
                            {pointer(o.c(copy)), types.c, problem.ldc()}, machine_.stream.handle());
    };
    Contender hot(machine_, operands, false, product);
    Contender rotated(machine_, operands, true, product);
    Algorithms hot_algorithms = prepared_cublas(operands, problem, false);
    Algorithms rotated_algorithms = prepared_cublas(operands, problem, true);
    std::vector<Contender*> all = {&hot, &rotated};
    for (Contender* contender : all) contender->prepare(options_.sample_ms * 1e3);
    for (Algorithms* algorithms : {&hot_algorithms, &rotated_algorithms}) {
      for (auto& [number, contender] : *algorithms) all.push_back(&contender);
    }
    std::uint64_t throttled = 0;
    int clock_mhz = 0;
    for (int round = 0; round < options_.rounds; ++round) {
      // Another competitor goes first in each round.
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[(i + static_cast<std::size_t>(round)) % all.size()]->sample();
      }
      if (machine_.nvml) {
        throttled |= machine_.nvml->throttle_reasons();
        clock_mhz = machine_.nvml->sm_clock_mhz();
      }
    }

    auto& [algorithm, hot_cublas] = fastest(hot_algorithms);
    auto& [rotated_algorithm, rotated_cublas] = fastest(rotated_algorithms);
    const BestConfiguration best = machine_.library.query(problem);
    ordered_json entry = {
        {"m", problem.m},
        {"n", problem.n},
        {"k", problem.k},
        {"layout", layout_text(problem)},
        {"math", to_string(problem.math)},
        {"type", to_string(problem.types)},
        {"template", best.template_name},
        {"configuration", to_string(best.configuration)},
        {"floor_us", floor_us(machine_, problem)},
        {"ratio", median(hot_cublas.samples()) / median(hot.samples())},
        {"rotated_ratio", median(rotated_cublas.samples()) / median(rotated.samples())},
        {"copies", operands.copies()},
        {"hot", figures(hot)},
        {"hot_cublas", figures(hot_cublas)},
        {"rotated", figures(rotated)},
        {"rotated_cublas", figures(rotated_cublas)},
        {"cublas_algorithm", algorithm},
        {"rotated_cublas_algorithm", rotated_algorithm},
        {"sm_clock_mhz", clock_mhz},
        {"throttle_reasons", throttled}};
    if (options_.sustained_s > 0 && problem.operations() > 5e11) {
      entry["sustained_s"] = options_.sustained_s;
      entry["sustained_us"] = hot.sustained_us(options_.sustained_s);
      entry["sustained_cublas_us"] =
          hot_algorithms.at(algorithm).sustained_us(options_.sustained_s);
    }
    print(problem, entry);
    return entry;
  }

  static void print_header() {
    fmt::print("{:>20} {:>10} {:>10} {:>7} {:>9} {:>8} {:>10} {:>9}\n", "size", "time us",
               "cuBLAS us", "ratio", "rotated", "floor us", "TFLOP/s", "MHz");
  }

 private:
  // cuBLAS's own choice, number 0, and the candidates of cublasLt that compute the product.
  Algorithms prepared_cublas(const Operands& operands, const GemmProblem& problem, bool rotated) {
    const auto matrices = [problem](const Operands& o, int copy) {
      using Operand = gpu::Cublas::Operand;
      return std::tuple(Operand{o.a(copy), problem.lda()}, Operand{o.b(copy), problem.ldb()},
                        Operand{o.c(copy), problem.ldc()});
    };
    const int algorithms = std::apply(
        [&](const auto&... matrix) { return machine_.cublas.algorithms(problem, matrix...); },
        matrices(operands, 0));
    Algorithms result;
    for (int number = 0; number < algorithms; ++number) {
      const auto product = [this, problem, matrices, number](const Operands& o, int copy) {
        const auto& [a, b, c] = matrices(o, copy);
        machine_.cublas.gemm(problem, 1, a, b, 0, c, number);
      };
      Contender& made =
          result.try_emplace(number, machine_, operands, rotated, product).first->second;
      try {
        made.prepare(options_.sample_ms * 1e3);
      } catch (const Error&) {
        if (number == 0) throw;
        result.erase(number);
      }
    }
    return result;
  }

  static void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

  static void print(const GemmProblem& problem, const ordered_json& entry) {
    const double us = entry["hot"]["median_us"];
    fmt::print("{:>20} {:>10.2f} {:>10.2f} {:>7.3f} {:>9.3f} {:>8.1f} {:>10.2f} {:>9}\n",
               to_string(problem), us, entry["hot_cublas"]["median_us"].get<double>(),
               entry["ratio"].get<double>(), entry["rotated_ratio"].get<double>(),
               entry["floor_us"].get<double>(), problem.operations() / us / 1e6,
               entry["sm_clock_mhz"].get<int>());
    if (entry.contains("sustained_us")) {
      const double own = entry["sustained_us"];
      const double other = entry["sustained_cublas_us"];
      fmt::print("{:>20} {:>10.2f} {:>10.2f} {:>7.3f} {:>29.2f}\n",
                 fmt::format("for {} s", entry["sustained_s"].get<double>()), own, other,
                 other / own, problem.operations() / own / 1e6);
    }
    std::fflush(stdout);
  }

  Machine& machine_;
  const Options& options_;
};

double geometric_mean(const ordered_json& shapes, const char* of) {
  double logarithms = 0;
  for (const ordered_json& shape : shapes) logarithms += std::log(shape[of].get<double>());
  return std::exp(logarithms / static_cast<double>(shapes.size()));
}

ordered_json describe_machine(const Machine& machine) {
  return {{"device", machine.device.label},
          {"driver", machine.device.driver_text()},
          {"cublas", machine.cublas.version()},
          {"nvrtc", inspect_nvrtc().build},
          {"autotune", kVersion},
          {"fma_gflops", machine.rates.fma_gflops},
          {"copy_gbps", machine.rates.copy_gbps},
          {"l2_bytes", machine.device.l2_bytes}};
}

void run(const Options& options, const std::string& command) {
  Machine machine;
  ordered_json document = describe_machine(machine);
  document["date"] = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  document["command"] = command;
  fmt::print("{}, driver {}, cuBLAS {}, {:.1f} TFLOP/s by multiply-adds, {:.0f} GB/s by copies\n",
             machine.device.label, machine.device.driver_text(), machine.cublas.version(),
             machine.rates.fma_gflops / 1e3, machine.rates.copy_gbps);
  if (!options.sizes.empty()) {
    Comparison comparison(machine, options);
    Comparison::print_header();
    ordered_json& shapes = document["shapes"] = ordered_json::array();
    for (const std::string& layout : options.layouts) {
      for (const Problem& size : parse_sizes(options.sizes)) {
        GemmProblem problem = gemm_problem(size);
        set_layout(problem, layout);
        problem.math = math_from_string(options.math);
        problem.types = types_from_string(options.type);
        shapes.push_back(comparison.run(problem));
      }
    }
    document["geometric_mean"] = geometric_mean(shapes, "ratio");
    document["rotated_geometric_mean"] = geometric_mean(shapes, "rotated_ratio");
    fmt::print("geometric mean of the ratios: {:.3f}, with other operands in each launch {:.3f}\n",
               geometric_mean(shapes, "ratio"), geometric_mean(shapes, "rotated_ratio"));
  }
  if (!options.output.empty()) std::ofstream(options.output) << document.dump(1) << "\n";
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  autotune::Options options;
  CLI::App app("Times the best known configurations against cuBLAS.");
  app.add_option("--sizes", options.sizes, "as autotune --sizes; \"\" for none");
  app.add_option("--layouts", options.layouts, "NN,NT,TN,TT")->delimiter(',');
  app.add_option("--math", options.math, "strict, emulated or tf32")
      ->check(CLI::IsMember({"strict", "emulated", "tf32"}));
  app.add_option("--type", options.type, "f32, bf16, f16, bf16-f32 or f16-f32");
  app.add_option("--rounds", options.rounds, "samples of each")->check(CLI::PositiveNumber);
  app.add_option("--sample-ms", options.sample_ms, "how long a sample lasts at least");
  app.add_option("--budget", options.budget_s, "seconds of tuning for a shape that is not known");
  app.add_option("--sustained", options.sustained_s,
                 "seconds without a pause, for shapes beyond 0.5 TFLOP");
  app.add_option("--output", options.output, "file for the JSON document");
  CLI11_PARSE(app, argc, argv);
  std::string command;
  for (int i = 0; i < argc; ++i) command += std::string(i > 0 ? " " : "") + argv[i];
  try {
    autotune::run(options, command);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gemm_vs_cublas: {}\n", error.what());
    return 1;
  }
  return 0;
}
