#include "tuner/measure/gpu_workspace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "operation/memory_requirement.hpp"
#include "tuner/measure/verification.hpp"

namespace autotune {
namespace {

// A quiet NaN that no arithmetic gives.
constexpr std::uint32_t kPoison = 0x7fc0dead;

// Left to kernels: code, local memory, cuBLAS.
constexpr double kReservedBytes = 512.0 * (1 << 20);

gpu::DeviceBuffer buffer(const gpu::Driver& driver, std::int64_t count, std::size_t element_bytes) {
  return {driver, static_cast<std::size_t>(count) * element_bytes};
}

VerificationKernels::View view(std::uint64_t data, Transpose op, std::int64_t ld) {
  return op == Transpose::none ? VerificationKernels::View{data, ld, 1}
                                : VerificationKernels::View{data, 1, ld};
}

}  // namespace

GpuWorkspace::GpuWorkspace(const gpu::Driver& driver, const VerificationKernels& kernels,
                           const gpu::Stream& stream, const GemmProblem& problem, InputData input,
                           std::uint64_t seed)
    : kernels_(kernels),
      stream_(stream),
      problem_(problem),
      input_(input),
      seed_(seed),
      integers_a_(buffer(driver, problem.m * problem.k, sizeof(float))),
      integers_b_(buffer(driver, problem.k * problem.n, sizeof(float))),
      a_(buffer(driver, problem.m * problem.k, sizeof(float))),
      b_(buffer(driver, problem.k * problem.n, sizeof(float))),
      c_(buffer(driver, problem.m * problem.n + 2 * guard_words(problem), sizeof(float))),
      integers_sum_(buffer(driver, problem.m * problem.n, sizeof(float))),
      sum_(buffer(driver, problem.m * problem.n, sizeof(double))),
      magnitude_(buffer(driver, problem.m * problem.n, sizeof(float))) {
  fill(input, seed);
  compute_references();
}

bool GpuWorkspace::serves(const MeasureRequest& request) const {
  return problem_ == request.problem && input_ == request.input && seed_ == request.seed;
}

DeviceOperands GpuWorkspace::integers() const {
  return {integers_a_.address(), integers_b_.address(), reals().c};
}

DeviceOperands GpuWorkspace::reals() const {
  const auto guard_bytes = static_cast<std::uint64_t>(guard_words(problem_)) * sizeof(float);
  return {a_.address(), b_.address(), c_.address() + guard_bytes};
}

void GpuWorkspace::poison() const {
  c_.fill(kPoison, 0, c_.size(), stream_);
}

void GpuWorkspace::check_integers(std::uint64_t findings) const {
  kernels_.check_integers(area(), integers_sum_.address(), findings, stream_);
}

void GpuWorkspace::check_reals(std::uint64_t findings) const {
  kernels_.check_real(area(), sum_.address(), magnitude_.address(), error_bound(problem_.k, input_),
                      findings, stream_);
}

VerificationKernels::Area GpuWorkspace::area() const {
  return {c_.address(), guard_words(problem_), problem_.m * problem_.n,
          static_cast<std::int64_t>(c_.size() / sizeof(float)), kPoison};
}

void GpuWorkspace::fill(InputData input, std::uint64_t seed) const {
  const std::int64_t count_a = problem_.m * problem_.k;
  const std::int64_t count_b = problem_.k * problem_.n;
  const std::uint64_t seed_a = 2 * seed;
  const std::uint64_t seed_b = seed_a + 1;
  kernels_.fill_integers(integers_a_.address(), count_a, seed_a, stream_);
  kernels_.fill_integers(integers_b_.address(), count_b, seed_b, stream_);
  if (input == InputData::linear) {
    kernels_.fill_linear(a_.address(), count_a, 0, 1, stream_);
    kernels_.fill_linear(b_.address(), count_b, 1, 0, stream_);
  } else {
    kernels_.fill_uniform(a_.address(), count_a, seed_a, stream_);
    kernels_.fill_uniform(b_.address(), count_b, seed_b, stream_);
  }
}

void GpuWorkspace::compute_references() const {
  const auto& [m, n, k, op_a, op_b, math] = problem_;
  const std::int64_t lda = problem_.lda();
  const std::int64_t ldb = problem_.ldb();
  kernels_.reference_integers(view(integers_a_.address(), op_a, lda),
                              view(integers_b_.address(), op_b, ldb), m, n, k,
                              integers_sum_.address(), stream_);
  kernels_.reference_real(view(a_.address(), op_a, lda), view(b_.address(), op_b, ldb), m, n, k,
                          sum_.address(), magnitude_.address(), stream_);
}

GpuWorkspace* WorkspaceCache::find_or_make(const MeasureRequest& request, std::string& problem) {
  const auto found = std::find_if(used_.begin(), used_.end(), [&](const GpuWorkspace& workspace) {
    return workspace.serves(request);
  });
  if (found != used_.end()) {
    used_.splice(used_.begin(), used_, found);
    return &used_.front();
  }
  const double need = gpu_bytes_needed(request.problem);
  const auto free = [&] { return static_cast<double>(gpu::memory_info(driver_).free_bytes); };
  while (!used_.empty() && free() < need + kReservedBytes) used_.pop_back();
  if (free() >= need + kReservedBytes) {
    try {
      used_.emplace_front(driver_, kernels_, stream_, request.problem, request.input, request.seed);
      stream_.synchronize();  // a fault here is not the candidate's
      return &used_.front();
    } catch (const gpu::DriverError& error) {
      if (!gpu::is_out_of_memory(error.code())) throw;
    }
  }
  problem = fmt::format(
      "{} needs {:.1f} GiB of the device's memory and {:.1f} GiB to spare; {:.1f} GiB are free",
      to_string(request.problem), need * 0x1p-30, kReservedBytes * 0x1p-30, free() * 0x1p-30);
  return nullptr;
}

}  // namespace autotune
