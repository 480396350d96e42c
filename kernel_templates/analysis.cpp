#include "kernel_templates/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace autotune {
namespace {

// The rates of tensor cores, without sparsity and with sums in FP32, as multiples of the FMA rate
// at the same clock: from the operations of an SM in a clock that follow from the white papers of
// NVIDIA's architectures. These are, of FP16, TF32 and FP32, 2048, 1024 and 128 for the A100, 4096,
// 2048 and 256 for the H100, and 1024, 512 and 256 for the A40 and the RTX 6000 Ada, whose GeForce
// kin has half as many of FP16 and TF32.
struct TensorRates {
  const char* architecture;
  double fp16;
  double tf32;
};
constexpr TensorRates kTensorRates[] = {
    {"sm_80", 16, 8},
    {"sm_86", 4, 2},
    {"sm_89", 4, 2},
    {"sm_90", 16, 8},
};

const TensorRates* tensor_rates(const std::string& architecture) {
  const auto* known = std::ranges::find(kTensorRates, architecture, &TensorRates::architecture);
  return known == std::end(kTensorRates) ? nullptr : known;
}

}  // namespace

Analysis analyze(const KernelTemplate& kernel, const Configuration& configuration,
                 const SmLimits& sm, std::optional<std::int64_t> registers, const Problem* problem,
                 int sm_count) {
  const Problem& launched = problem != nullptr ? *problem : kernel.limiting_problems.front();
  const TiledLaunch launch = tiled_launch(kernel, configuration, launched, sm_count);
  const TileShape& tile = launch.tile;
  const LaunchGeometry& geometry = launch.geometry;
  const std::int64_t taken = launch.shared_bytes;
  const std::int64_t element_bytes = size_bytes(kernel.operation->tensors(launched).front().type);

  Analysis result;
  result.threads = geometry.threads();
  result.shared_bytes = taken;
  if (kernel.tile_shape) {
    const std::int64_t loads = (tile.block_m + tile.block_n) * tile.block_k;
    const std::int64_t operations = 2 * tile.block_m * tile.block_n * tile.block_k;
    result.loads_per_phase = loads;
    result.operations_per_phase = operations;
    result.operations_per_load = static_cast<double>(operations) / static_cast<double>(loads);
    // A template may keep only a part of the loaded elements in shared memory.
    result.shared_bytes = std::min(loads * element_bytes, taken);
  }
  result.reserved_shared_bytes = taken - result.shared_bytes + sm.shared_reserved_per_block;
  result.registers = registers;
  result.occupancy = occupancy(
      {.threads = result.threads, .shared_bytes = taken, .registers_per_thread = registers}, sm);
  if (result.occupancy.blocks_per_sm && result.loads_per_phase) {
    result.pending_loads = *result.occupancy.blocks_per_sm * *result.loads_per_phase;
  }

  if (problem) result.blocks = geometry.blocks();
  const std::int64_t at_once = result.occupancy.blocks_per_sm.value_or(0) * sm_count;
  if (problem && at_once > 0) {
    result.waves = static_cast<double>(geometry.blocks()) / static_cast<double>(at_once);
    result.wave_efficiency = *result.waves / std::ceil(*result.waves);
  }
  return result;
}

std::optional<Roofline> roofline(const KernelTemplate& kernel, const Problem& problem,
                                 const std::string& architecture, const DeviceRates& rates) {
  const Work work = kernel.operation->work(problem);
  double operations = work.operations;
  double bytes = work.bytes;
  double speed = 1;
  if (kernel.tensor_products) {
    const TensorProducts use = kernel.tensor_products(problem);
    const TensorRates* known = tensor_rates(architecture);
    if (known == nullptr) return std::nullopt;
    speed = use.input == TensorInput::fp16 ? known->fp16 : known->tf32;
    operations *= use.products;
    const std::vector<TensorDesc> tensors = kernel.operation->tensors(problem);
    for (const TensorDesc& tensor : tensors) {
      constexpr int kPasses = 2;
      constexpr int kPlaneBytes = 2;
      if (!is_read(tensor.role)) continue;
      bytes += kPasses * kPlaneBytes * use.planes * static_cast<double>(tensor.elements());
    }
  }
  return Roofline{operations / (speed * rates.fma_gflops) * 1e-3, bytes / rates.copy_gbps * 1e-3};
}

}  // namespace autotune
