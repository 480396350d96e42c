// Launches and checks kernels on the CPU device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/block_sample.hpp"
#include "cpu/launcher.hpp"
#include "cpu/tensors.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

// For a large problem only a sample of the launch's blocks is run, verified and timed. The time of
// all blocks is extrapolated, and note() says so.
class CpuBackend : public MeasureBackend {
 public:
  std::string provide(const Operation& operation, const MeasureRequest& request) override;
  std::string load(const MeasureRequest& request) override;
  void poison() override;
  double launch(DataSet data) override;
  CheckOutcome check(DataSet data, double error_bound, const std::string& when,
                     Finding& finding) override;
  Timing time(const TimingPlan& plan, double estimate_us) override;
  [[nodiscard]] std::string note() const override;
  void discard(TrialStatus status) override;

  [[nodiscard]] ThreadPool& pool() { return launcher_.pool(); }

 private:
  // The tensors of the last problem. They are kept, since the next request is mostly for the same
  // problem.
  struct Tensors {
    Problem problem;
    InputData input;
    std::uint64_t seed;
    std::vector<TensorDesc> descriptions;        // the last is the output
    std::vector<ElementBuffer> integers, reals;  // one for each input
    PoisonedTensor output;
  };
  struct Loaded {
    const Operation& operation;
    MeasureRequest request;
    std::optional<CpuKernel> kernel;
    std::vector<std::int64_t> blocks;  // the blocks to run; empty: not chosen yet
    std::optional<TileGrid> grid;      // of the output, when only some blocks are run

    [[nodiscard]] bool is_sample() const {
      return static_cast<std::int64_t>(blocks.size()) < request.geometry.blocks();
    }
  };

  void make_tensors(const Operation& operation, const MeasureRequest& request);
  // Runs block 0 alone to see how the launch divides the output.
  void choose_blocks(DataSet data);
  double run_blocks(DataSet data);
  [[nodiscard]] std::vector<const void*> inputs(DataSet data) const;

  CpuLauncher launcher_;
  std::optional<Tensors> tensors_;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace autotune
