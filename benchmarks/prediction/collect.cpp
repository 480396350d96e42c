#include "collect.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/setup.hpp"
#include "cli/options/tuning_setup.hpp"
#include "operation/gemm/gemm.hpp"
#include "pool.hpp"
#include "shapes.hpp"
#include "tuner/run/candidate_runner.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr double kModelMargin = 4;     // that the model puts a configuration behind its best
constexpr double kScreenMargin = 2.5;  // that a sample is behind the best

bool is_aligned(const GemmProblem& problem) {
  return unpadded_traits(gemm_operation(), problem).aligned;
}

class Collector {
 public:
  Collector(const ShippedPortfolios& portfolios, const CollectOptions& options)
      : device_(device_for(options.device)),
        setup_(
            isolated_setup(portfolios, {device_}, own_program_path().parent_path() / "autotune")),
        cubins_(open_cubin_store()),
        runner_(setup_, cubins_) {
    const std::optional<TuningDatabase> database =
        options.database.empty() ? std::nullopt : TuningDatabase::open_read_only(options.database);
    pool_ = candidate_pool(portfolios, device_, database ? &*database : nullptr, options.math,
                           options.spread);
    fmt::print("{}: {} configurations\n", device_.label, pool_.size());
  }

  // Starts the compilation of all that a shape needs, so that it is under way when its turn comes.
  void prepare(const GemmProblem& problem) {
    for (const Candidate& one : candidates(problem)) {
      runner_.prepare(*pool_[one.index].kernel, pool_[one.index].configuration, problem);
    }
  }

  ordered_json measure(const GemmProblem& problem, Clock::time_point end) {
    ordered_json line = {{"m", problem.m},
                         {"n", problem.n},
                         {"k", problem.k},
                         {"layout", layout_text(problem)},
                         {"math", to_string(problem.math)},
                         {"device_class", device_.device_class()},
                         {"device_label", device_.label},
                         {"aligned", is_aligned(problem)},
                         {"entries", ordered_json::array()}};
    double best_us = 0;
    for (const Candidate& one : candidates(problem)) {
      if (Clock::now() > end) break;
      const PoolEntry& entry = pool_[one.index];
      MeasureOptions options{.verify = false};
      options.timing = {
          .samples = 3, .min_sample_us = 400, .stop_above_us = kScreenMargin * best_us};
      const Trial trial = runner_.run(*entry.kernel, entry.configuration, problem, options);
      if (!trial.ok()) {
        line["entries"].push_back({{"template", entry.kernel->name},
                                   {"space_version", entry.kernel->space_version},
                                   {"configuration", to_string(entry.configuration)},
                                   {"cycles", one.cycles},
                                   {"status", to_string(trial.status)}});
        continue;
      }
      const double us = trial.measurement.median_us;
      if (best_us == 0 || us < best_us) best_us = us;
      line["entries"].push_back({{"template", entry.kernel->name},
                                 {"space_version", entry.kernel->space_version},
                                 {"configuration", to_string(entry.configuration)},
                                 {"cycles", one.cycles},
                                 {"us", us},
                                 {"whole", !trial.measurement.screened_out}});
    }
    line["best_us"] = best_us;
    return line;
  }

 private:
  struct Candidate {
    std::size_t index = 0;
    double cycles = 0;
  };

  // The fastest by the model first.
  [[nodiscard]] std::vector<Candidate> candidates(const GemmProblem& problem) const {
    std::vector<Candidate> result;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (!computes(*pool_[i].kernel, problem)) continue;
      result.push_back({i, model_cycles(pool_[i], problem, device_)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cycles < b.cycles; });
    while (!result.empty() && result.back().cycles > kModelMargin * result.front().cycles) {
      result.pop_back();
    }
    return result;
  }

  DeviceInfo device_;
  TunerSetup setup_;
  CubinStore cubins_;
  CandidateRunner runner_;
  std::vector<PoolEntry> pool_;
};

}  // namespace

void collect(const ShippedPortfolios& portfolios, const CollectOptions& options) {
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options.seconds));
  Collector collector(portfolios, options);
  const std::vector<GemmProblem> shapes =
      random_shapes(options.most_shapes, options.seed, options.math);
  // One turn of layouts: its shapes need all kernels, in the order in which they are measured.
  const std::size_t first_turn = std::min<std::size_t>(shapes.size(), 128);
  for (std::size_t i = 0; i < first_turn; ++i) collector.prepare(shapes[i]);
  std::ofstream output(options.output, std::ios::app);
  for (std::size_t i = 0; i < shapes.size() && Clock::now() < end; ++i) {
    ordered_json line = collector.measure(shapes[i], end);
    if (Clock::now() > end) break;  // the last shape may not be whole
    line["seed"] = options.seed;
    output << line.dump() << std::endl;
    fmt::print("{:>4} {:>24} {:>4} configurations, best {:>9.1f} us, {:>4.0f} s\n", i,
               to_string(shapes[i]), line["entries"].size(), line["best_us"].get<double>(),
               std::chrono::duration<double>(Clock::now() - start).count());
    std::fflush(stdout);
  }
}

}  // namespace autotune
