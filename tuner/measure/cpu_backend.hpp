// Launches and checks kernels on the CPU device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/block_sample.hpp"
#include "cpu/compiler.hpp"
#include "cpu/launcher.hpp"
#include "tuner/measure/cpu_workspace.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

// For a large problem only a sample of the launch's blocks is run, verified and timed. The time of
// all blocks is extrapolated, and note() says so.
class CpuBackend : public MeasureBackend {
 public:
  // `compiler` compiles the references; it is asked for when one is needed.
  explicit CpuBackend(std::function<const CpuCompiler&()> compiler)
      : compiler_(std::move(compiler)) {}

  void compile_kernels(const ProblemData& data) override;
  std::string provide(const MeasureRequest& request) override;
  std::string load(const MeasureRequest& request) override;
  void poison(DataSet data, Poison poison) override;
  double launch(DataSet data) override;
  CheckOutcome check(DataSet data, const std::string& when, Finding& finding) override;
  void store_results() override { tensors_->store_results(); }
  std::string changed_input(DataSet data) override { return tensors_->changed_input(data); }
  [[nodiscard]] double least_us(const ProblemData& data) override;
  Timing time(const TimingPlan& plan, double estimate_us) override;
  [[nodiscard]] std::string note() const override;
  void discard(TrialStatus status) override;

  [[nodiscard]] ThreadPool& pool() { return launcher_.pool(); }

 private:
  struct Loaded {
    MeasureRequest request;
    std::optional<CpuKernel> kernel;
    std::vector<std::int64_t> blocks;  // the blocks to run; empty: not chosen yet
    std::vector<TileGrid> grids;       // of the outputs, when only some blocks are run

    [[nodiscard]] bool is_sample() const {
      return static_cast<std::int64_t>(blocks.size()) < request.geometry.blocks();
    }
  };

  // Runs block 0 alone to see how the launch divides the outputs.
  void choose_blocks(DataSet data);
  double run_blocks(DataSet data);
  // The parts of each output that the blocks have written, with their references.
  [[nodiscard]] std::vector<std::vector<Rectangle>> parts_with_references(DataSet data);

  std::function<const CpuCompiler&()> compiler_;
  CpuLauncher launcher_;
  std::map<ReferenceCode, CpuReference> references_;
  std::optional<CpuLaunchedReference> launched_reference_;  // of the last problem that has one
  std::optional<double> multiply_adds_gflops_;              // of this machine, once it was measured
  // The tensors of the last problem. They are kept, since the next request is mostly for the same
  // problem.
  std::optional<CpuWorkspace> tensors_;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace autotune
