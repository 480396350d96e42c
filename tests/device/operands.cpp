#include "tests/device/operands.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "gpu/kernel_arguments.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::uint32_t kNotWritten = 0x7fc54321;  // a NaN

// The operand as it lies in memory. vectors: along K, behind each other. along_k: its rows are
// vectors.
std::vector<float> in_memory(const std::vector<float>& vectors, std::int64_t k, bool along_k,
                             std::int64_t gap) {
  const auto length = static_cast<std::size_t>(k);
  const std::size_t count = vectors.size() / length;
  const std::size_t ld = (along_k ? length : count) + static_cast<std::size_t>(gap);
  std::vector<float> memory((along_k ? count : length) * ld,
                            std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t vector = i / length;
    const std::size_t at = i % length;
    memory[along_k ? vector * ld + at : at * ld + vector] = vectors[i];
  }
  return memory;
}

gpu::DeviceBuffer on_device(const gpu::Stream& stream, const std::vector<float>& values) {
  gpu::DeviceBuffer buffer(stream.driver(), sizeof(float) * values.size());
  buffer.copy_from_host(values.data(), buffer.size(), stream);
  stream.synchronize();
  return buffer;
}

}  // namespace

Operands::Operands(const GemmProblem& of)
    : problem(of),
      a(static_cast<std::size_t>(of.m * of.k)),
      b(static_cast<std::size_t>(of.n * of.k)) {}

void fill_uniform(std::span<float> values, std::mt19937& random) {
  constexpr std::int64_t kSteps = 1 << 24;
  for (float& value : values) {
    const auto odd = static_cast<std::int64_t>(2 * (random() % kSteps) + 1);
    value = static_cast<float>(odd - kSteps) * 0x1p-24F;
  }
}

bool takes_prepared(const KernelTemplate& kernel, const GemmProblem& problem) {
  const KernelSignature signature = kernel.signature(problem);
  return std::ranges::any_of(signature, [](const KernelArgument& argument) {
    return argument.kind == ArgumentKind::prepared;
  });
}

DeviceProduct::DeviceProduct(const Gpu& gpu, const gpu::Stream& stream, const Operands& operands,
                             std::int64_t gap)
    : stream_(stream),
      problem_(operands.problem),
      gap_(gap),
      a_(on_device(stream,
                   in_memory(operands.a, problem_.k, problem_.op_a == Transpose::none, gap))),
      b_(on_device(stream,
                   in_memory(operands.b, problem_.k, problem_.op_b == Transpose::transposed, gap))),
      c_(*gpu.driver, sizeof(float) * static_cast<std::size_t>(problem_.m * (problem_.n + gap))),
      workspace_(*gpu.driver) {}

std::vector<float> DeviceProduct::result(const KernelTemplate& kernel, const gpu::Kernel& loaded,
                                         const LaunchGeometry& geometry, unsigned prepared,
                                         const Factors& factors) const {
  std::array<LaunchValues::Tensor, 3> tensors = {{{a_.address(), problem_.lda() + gap_},
                                                  {b_.address(), problem_.ldb() + gap_},
                                                  {c_.address(), problem_.ldc() + gap_}}};
  const std::int64_t sizes[] = {problem_.m, problem_.n, problem_.k};
  const double scalars[] = {factors.alpha, factors.beta};
  const gpu::DeviceBuffer in_memory = on_device(stream_, {factors.alpha, factors.beta});
  const std::uint64_t addresses[] = {in_memory.address(), in_memory.address() + sizeof(float)};
  const auto launch = [&](const LaunchGeometry& own, unsigned prepares, gpu::Kernel::Part part) {
    gpu::KernelArguments arguments(
        stream_.driver(), ArgumentLayout(kernel.signature(problem_), factors.mode), own,
        kernel.operation->tensors(problem_),
        {.tensors = tensors,
         .sizes = sizes,
         .scalars = scalars,
         .scalar_addresses = addresses,
         .workspace = workspace_.reserve(own.workspace_bytes(), stream_.handle()),
         .raster = static_cast<std::uint32_t>(own.raster),
         .prepares = prepares});
    loaded.launch(own, arguments.pointers(), stream_.handle(), part);
  };
  loaded.allow_dynamic_shared(geometry);
  const bool is_read = factors.beta != 0;
  c_.fill(is_read ? std::bit_cast<std::uint32_t>(factors.c) : kNotWritten, 0, c_.size(), stream_);

  LaunchGeometry rest = geometry;
  std::array<gpu::DeviceBuffer, 2> forms;
  for (unsigned operand = 0; operand < forms.size(); ++operand) {
    if ((prepared >> operand & 1) == 0) continue;
    const auto& share = geometry.preparation.shares[operand];
    forms[operand] = {stream_.driver(), static_cast<std::size_t>(share.bytes)};
    tensors[operand].prepared = forms[operand].address();
    LaunchGeometry own = geometry;
    own.preparation.blocks = share.blocks;
    launch(own, 1U << operand, gpu::Kernel::Part::preparation);
    rest.preparation.blocks -= share.blocks;
  }
  launch(rest, ~prepared, gpu::Kernel::Part::all);

  std::vector<float> with_gaps(c_.size() / sizeof(float));
  c_.copy_to_host(with_gaps.data(), c_.size(), stream_);
  stream_.synchronize();
  std::vector<float> values;
  const auto n = static_cast<std::size_t>(problem_.n);
  const std::size_t ld = n + static_cast<std::size_t>(gap_);
  for (std::size_t at = 0; at < with_gaps.size(); at += ld) {
    values.insert(values.end(), with_gaps.begin() + static_cast<std::ptrdiff_t>(at),
                  with_gaps.begin() + static_cast<std::ptrdiff_t>(at + n));
  }
  return values;
}

}  // namespace autotune
