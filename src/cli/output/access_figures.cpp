#include "cli/output/access_figures.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/gemm_options.hpp"
#include "cpu/access_trace.hpp"
#include "cpu/compiler.hpp"
#include "cpu/device.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kEnoughWork = 1 << 19;  // multiply-adds

// The tensors of the part of a problem that is traced. Their rows begin as far from a boundary of
// 32 elements as those of the whole problem, and share no sectors unless those do.
std::vector<TensorDesc> tensors_of_part(const Operation& operation, const Problem& problem,
                                        const Problem& part) {
  constexpr std::int64_t kBoundary = 32;
  const std::vector<TensorDesc> whole = operation.tensors(problem);
  std::vector<TensorDesc> tensors = operation.tensors(part);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t rest = whole[i].row_stride - tensors[i].columns;
    tensors[i].row_stride =
        tensors[i].columns + (rest < kBoundary ? rest : kBoundary + rest % kBoundary);
  }
  return tensors;
}

}  // namespace

std::vector<AccessSummary> access_figures(const KernelTemplate& kernel,
                                          const Configuration& configuration,
                                          const Problem& problem) {
  if (!kernel.tile_shape) {
    throw Error(fmt::format("{} has no tile shape, by which accesses are counted", kernel.name));
  }
  for (const Constraint& constraint : device_constraints(kernel, cpu_device_info())) {
    if (constraint.holds(configuration)) continue;
    throw Error(fmt::format("{} does not run on the CPU device, which traces them: {}", kernel.name,
                            constraint.meaning));
  }
  const CpuCompileResult compiled = CpuCompiler().compile(
      kernel.name, std::string(kernel.source),
      compile_options(kernel, configuration, code_traits(kernel, problem), ""), CpuCode::traced);
  if (!compiled.ok) {
    throw Error(fmt::format(
        "{} has instructions that the CPU device, which traces them, does not know", kernel.name));
  }
  const TileShape tile = kernel.tile_shape(configuration);
  const std::int64_t m = std::min(problem.size("m"), tile.block_m);
  const std::int64_t n = std::min(problem.size("n"), tile.block_n);
  const std::int64_t whole_k = problem.size("k");
  const std::int64_t k_tiles =
      std::max<std::int64_t>(1, std::min(whole_k, kEnoughWork / (m * n)) / tile.block_k);
  const std::int64_t k = std::min(whole_k, k_tiles * tile.block_k);
  const Problem part = resized(problem, m, n, k);
  LaunchGeometry geometry = kernel.geometry(configuration, part);
  geometry.grid = {1, 1, 1};
  return summarize(trace_block(compiled.image,
                               {.kernel_name = kernel.name,
                                .signature = kernel.signature(part),
                                .geometry = geometry,
                                .tensors = tensors_of_part(*kernel.operation, problem, part),
                                .sizes = {m, n, k},
                                .scalars = kernel.operation->scalars,
                                .k_tiles = k_tiles,
                                .turns = std::max<std::int64_t>(1, tile.block_k / tile.unroll)}));
}

}  // namespace autotune
