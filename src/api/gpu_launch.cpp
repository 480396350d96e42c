#include "api/gpu_launch.hpp"

#include <array>
#include <utility>

#include "gpu/context.hpp"
#include "gpu/workspace.hpp"

namespace autotune {
namespace {

void enqueue(const gpu::Driver& driver, const GpuLaunch& launch, const LaunchGeometry& geometry,
             const GemmCall& call, std::uint64_t workspace) {
  auto placed = placed_tensors(call);
  std::uint32_t prepares = ~0U;
  for (const auto& [matrix, index] : {std::pair(&call.a, 0U), std::pair(&call.b, 1U)}) {
    if (matrix->prepared == nullptr) continue;
    placed[index].prepared = matrix->prepared->operand()->address;
    prepares &= ~(1U << index);
  }
  const auto sizes = sizes_of(call.problem);
  const std::array<double, 2> scalars = {call.alpha, call.beta};
  const std::array<std::uint64_t, 2> addresses = {address_of(call.alpha_ptr),
                                                  address_of(call.beta_ptr)};
  gpu::KernelArguments arguments(driver, launch.arguments, geometry, launch.tensors,
                                 {.tensors = placed,
                                  .sizes = sizes,
                                  .scalars = scalars,
                                  .scalar_addresses = addresses,
                                  .workspace = workspace,
                                  .raster = static_cast<std::uint32_t>(geometry.raster),
                                  .prepares = prepares});
  launch.kernel->kernel.launch(geometry, arguments.pointers(), call.stream);
}

void copy_c(const gpu::Driver& driver, const GemmCall& call) {
  if (call.copied.data == nullptr) return;
  const std::int64_t bytes = size_bytes(call.c.type);  // of an element
  const auto place_of = [&](const MutableMatrix& matrix) {
    const std::int64_t stride = call.problem.batch > 1 ? matrix.stride : 0;
    return gpu::RowPlace{address_of(matrix.data), bytes * matrix.ld, bytes * stride};
  };
  gpu::copy_rows(driver, place_of(call.c), place_of(call.copied), bytes * call.problem.n,
                 call.problem.m, call.problem.batch, call.stream);
}

}  // namespace

// Memory is freed in its own context. That of an application may be gone, and the memory with it.
GpuPrepared::~GpuPrepared() {
  if (memory.size() == 0) return;
  const auto free_in = [&](std::uint64_t id) {
    if (id == context) memory = gpu::DeviceBuffer();
  };
  try {
    free_in(gpu::current_context_id(*driver));
  } catch (const gpu::DriverError&) {
    // The thread has no context, or a broken one.
  }
  if (memory.address() != 0) gpu::in_living_primary_context(driver, ordinal, free_in);
  memory.leave_to_context();
}

GpuLaunch launch_without_code(const KernelTemplate& kernel, const Configuration& configuration,
                              const Problem& problem, PointerMode mode) {
  return {.kernel = nullptr,
          .name = &kernel.name,
          .geometry = kernel.geometry(configuration, problem),
          .arguments = ArgumentLayout(kernel.signature(problem), mode),
          .tensors = kernel.operation->tensors(problem)};
}

void multiply(const gpu::Driver& driver, const GpuLaunch& launch, const GemmCall& call,
              std::uint64_t workspace) {
  copy_c(driver, call);
  const bool is_callers = call.workspace.data != nullptr && workspace != 0;
  if (is_callers && !call.workspace.zeroed && launch.geometry.workspace_bytes() > 0) {
    gpu::zero_counters(driver, workspace, call.stream);
  }
  if (call.a.prepared == nullptr && call.b.prepared == nullptr) {
    return enqueue(driver, launch, launch.geometry, call, workspace);
  }
  LaunchGeometry geometry = launch.geometry;
  GemmCall used = call;
  const std::uint64_t context = gpu::current_context_id(driver);
  const auto use = [&](Matrix& matrix, std::size_t index) {
    const PreparedOperand* const prepared =
        matrix.prepared == nullptr ? nullptr : matrix.prepared->operand();
    const bool fits =
        prepared != nullptr && prepared->kernel == *launch.name && prepared->context == context;
    if (!fits) matrix.prepared = nullptr;
    if (fits) geometry.preparation.blocks -= geometry.preparation.shares[index].blocks;
  };
  use(used.a, 0);
  use(used.b, 1);
  enqueue(driver, launch, geometry, used, workspace);
}

void prepare_operand(const GpuLaunch& launch, const GemmCall& call, std::size_t index,
                     GpuPrepared& operand) {
  LaunchGeometry geometry = launch.geometry;
  operand.bytes = static_cast<std::size_t>(geometry.preparation.shares[index].bytes);
  operand.memory =
      gpu::DeviceBuffer(*operand.driver, operand.bytes, operand.allocator, call.stream);
  operand.address = operand.memory.address();
  operand.kernel = *launch.name;
  geometry.preparation.blocks = geometry.preparation.shares[index].blocks;
  auto placed = placed_tensors(call);
  placed[index].prepared = operand.address;
  const auto sizes = sizes_of(call.problem);
  const std::array<double, 2> scalars = {1, 0};
  gpu::KernelArguments arguments(
      *operand.driver, launch.arguments, geometry.without_maps(), launch.tensors,
      {.tensors = placed, .sizes = sizes, .scalars = scalars, .prepares = 1U << index});
  launch.kernel->kernel.launch(geometry, arguments.pointers(), call.stream,
                               gpu::Kernel::Part::preparation);
}

bool scaled_by_driver(const gpu::Driver& driver, const GemmCall& call) {
  if (call.has_scalars_in_memory()) return false;
  if (call.beta == 1) copy_c(driver, call);
  if (call.beta == 1) return true;
  if (call.beta != 0 || call.problem.batch != 1) return false;
  const std::int64_t words = size_bytes(call.c.type) / gpu::kWordBytes;  // of an element
  if (words == 0) return false;
  gpu::zero_rows(driver, address_of(call.c.data), words * call.c.ld, call.problem.m,
                 words * call.problem.n, call.stream);
  return true;
}

void scale(const gpu::Driver& driver, const Scaling& scaling, const GemmCall& call) {
  copy_c(driver, call);
  const auto tiles = [](std::int64_t size, std::int64_t tile) { return (size - 1) / tile + 1; };
  LaunchGeometry geometry = scaling.launch.geometry;
  geometry.spread(
      tiles(call.problem.m, scaling.tile.block_m) * tiles(call.problem.n, scaling.tile.block_n),
      call.problem.batch);
  GemmCall deep = call;
  deep.problem.k = 0;
  deep.alpha = 0;
  deep.a.data = deep.b.data = call.c.data;  // not read, but an address is made of it
  deep.a.prepared = deep.b.prepared = nullptr;
  enqueue(driver, scaling.launch, geometry, deep, /*workspace=*/0);
}

}  // namespace autotune
