// The tensors of a problem on the CPU device: inputs, outputs between guard zones, and references,
// of which the blocks that are asked for are computed. One thread may use an object at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_signature.hpp"
#include "cpu/block_sample.hpp"
#include "cpu/compiler.hpp"
#include "cpu/launcher.hpp"
#include "cpu/loaded_kernel.hpp"
#include "cpu/tensors.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

// The kernels of a reference, loaded.
struct CpuReference {
  // Throws EnvironmentError when the compiler does not accept it.
  CpuReference(const CpuCompiler& compiler, CpuLauncher& launcher, const ReferenceCode& code);
  CpuReference(CpuLauncher& launcher, const std::string& image);

  CpuKernel integers, reals;
};

// The kernel or the function that gives what is expected, loaded.
class CpuLaunchedReference {
 public:
  // `compiler` compiles it. Throws EnvironmentError when it does not compile, and when there is no
  // compiler.
  CpuLaunchedReference(const std::function<const CpuCompiler&()>& compiler, CpuLauncher& launcher,
                       LaunchedReference reference);

  [[nodiscard]] const LaunchedReference& description() const { return description_; }
  // Runs all of it. `arguments` has a pointer to each argument. Returns the fault, as
  // CpuLauncher::launch.
  [[nodiscard]] std::optional<std::string> run(CpuLauncher& launcher, void** arguments) const;

 private:
  LaunchedReference description_;
  std::optional<CpuKernel> kernel_;       // either this
  std::optional<LoadedKernel> function_;  // or this is set
};

class CpuWorkspace {
 public:
  struct Output {
    PoisonedTensor result;
    ElementBuffer expected_integers;  // in its type
    ElementBuffer expected;           // FP64; in its type if there is a tolerance
    ElementBuffer magnitudes;         // FP32; none if there is a tolerance
    std::optional<Tolerance> tolerance = {};
    std::optional<std::size_t> data = {};         // of an inout: the place among the inputs
    std::optional<TileGrid> reference_grid = {};  // once a part of the reference is asked for
  };

  // Fills in the data. Throws std::bad_alloc, and EnvironmentError for a file that has other data.
  CpuWorkspace(CpuLauncher& launcher, const MeasureRequest& request);

  // Problems with the same results share a workspace.
  [[nodiscard]] bool serves(const MeasureRequest& request) const;

  [[nodiscard]] std::vector<Output>& outputs() { return outputs_; }
  // The tensors for launches on this data, in their order.
  [[nodiscard]] std::vector<LaunchValues::Tensor> placed(DataSet data) const;
  // Gives the inouts their data, too.
  void poison(DataSet data, Poison poison = Poison::nan);

  // Writes each output to the file that its content names, if it does. Throws EnvironmentError.
  void store_results() const;
  // Returns the name of an input that is not as it was filled, if there are tolerances.
  [[nodiscard]] std::string changed_input(DataSet data) const;

  // Computes what is expected of outputs with tolerances, for both sets of data, once. Without a
  // reference files say it. Throws EnvironmentError for a fault of the reference.
  void compute_expected(const CpuLaunchedReference* reference);

  // Computes the references of whole outputs, or, if `parts` has some of each output, of these at
  // least. Throws Error for a fault of the reference.
  void compute_references(const CpuReference& kernels, DataSet data,
                          std::span<const std::vector<Rectangle>> parts = {});

 private:
  struct Input {
    std::string name;
    ElementBuffer integers, reals;
    std::string integers_hash = {}, reals_hash = {};  // if there are tolerances
  };

  void add_input(std::size_t tensor);
  void add_output(std::size_t tensor);
  void launch_reference(const CpuLaunchedReference& reference, DataSet data);
  void run_reference(const CpuReference& kernels, DataSet data,
                     std::span<const std::int64_t> blocks);
  [[nodiscard]] bool find_reference_grids(const CpuReference& kernels);

  CpuLauncher& launcher_;
  ProblemData data_;
  InputData input_;
  std::uint64_t seed_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::set<std::int64_t> computed_integers_, computed_reals_;  // blocks of the references
  bool has_expected_ = false;                                  // of outputs with tolerances
};

}  // namespace autotune
