// The tensors of a problem on the CPU device: inputs, outputs between guard zones, and references,
// of which the blocks that are asked for are computed. One thread may use an object at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_signature.hpp"
#include "cpu/block_sample.hpp"
#include "cpu/compiler.hpp"
#include "cpu/launcher.hpp"
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

class CpuWorkspace {
 public:
  struct Output {
    PoisonedTensor result;
    ElementBuffer expected_integers;              // in its type
    ElementBuffer expected;                       // FP64
    ElementBuffer magnitudes;                     // FP32
    std::optional<TileGrid> reference_grid = {};  // once a part of the reference is asked for
  };

  // Fills in the data. Throws std::bad_alloc.
  CpuWorkspace(CpuLauncher& launcher, const MeasureRequest& request);

  // Problems with the same results share a workspace.
  [[nodiscard]] bool serves(const MeasureRequest& request) const;

  [[nodiscard]] std::vector<Output>& outputs() { return outputs_; }
  // The tensors for launches on this data, in their order.
  [[nodiscard]] std::vector<LaunchValues::Tensor> placed(DataSet data) const;
  void poison();

  // Computes the references of whole outputs, or, if `parts` has some of each output, of these at
  // least. Throws Error for a fault of the reference.
  void compute_references(const CpuReference& kernels, DataSet data,
                          std::span<const std::vector<Rectangle>> parts = {});

 private:
  struct Input {
    ElementBuffer integers, reals;
  };

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
};

}  // namespace autotune
