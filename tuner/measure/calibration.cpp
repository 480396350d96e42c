#include "tuner/measure/calibration.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "autotune/error.hpp"

#include "gpu/memory.hpp"
#include "tuner/measure/launch_timer.hpp"

namespace autotune {
namespace {

// The constants of calibration.cu.
constexpr std::int64_t kThreads = 256;
constexpr double kMultiplyAddsAnIteration = 16 * 8;  // per thread

constexpr int kRepeats = 5;  // the best of them counts

double least_us(const gpu::Stream& stream, const std::function<void()>& enqueue, int launches = 1) {
  const LaunchTimer timer(stream, enqueue, nullptr);
  const TimingPlan plan{.samples = kRepeats, .launches_per_sample = launches};
  const Measurement measurement = timer.measure(plan, timer.estimate_us());
  return *std::ranges::min_element(measurement.samples_us);
}

double fma_gflops(const DeviceInfo& device, const gpu::Kernel& kernel, const gpu::Stream& stream) {
  const LaunchGeometry geometry{
      .grid = {std::int64_t{device.sm_count} * device.sm.threads_per_sm / kThreads, 1, 1},
      .block = {kThreads, 1, 1}};
  std::uint64_t out = 0;  // never written to
  int iterations = 1000;
  float factor = 0.5F;
  float summand = 1;
  void* arguments[] = {&out, &iterations, &factor, &summand};
  const auto enqueue = [&] { kernel.launch(geometry, arguments, stream); };

  constexpr double kWantedUs = 10e3;
  const double first_us = least_us(stream, enqueue);
  iterations = static_cast<int>(std::clamp(iterations * kWantedUs / first_us, 1.0, 1e8));
  const double multiply_adds =
      static_cast<double>(geometry.blocks() * kThreads) * kMultiplyAddsAnIteration * iterations;
  return 2 * multiply_adds / least_us(stream, enqueue) * 1e-3;
}

double copy_gbps(const gpu::Kernel& kernel, const gpu::Stream& stream, const DeviceInfo& device,
                 std::size_t wanted_bytes, int launches = 1) {
  constexpr std::size_t kElementBytes = 16;
  const std::size_t free = gpu::memory_info(stream.driver()).free_bytes;
  const std::size_t bytes = std::min(wanted_bytes, free / 4) / kElementBytes * kElementBytes;
  const gpu::DeviceBuffer from_buffer(stream.driver(), bytes);
  const gpu::DeviceBuffer to_buffer(stream.driver(), bytes);
  from_buffer.fill(0x3f800000, 0, bytes, stream);

  std::uint64_t from = from_buffer.address();
  std::uint64_t to = to_buffer.address();
  auto count = static_cast<std::int64_t>(bytes / kElementBytes);
  void* arguments[] = {&from, &to, &count};
  const LaunchGeometry geometry{
      .grid = {std::int64_t{device.sm_count} * device.sm.threads_per_sm / kThreads, 1, 1},
      .block = {kThreads, 1, 1}};
  const double us = least_us(
      stream, [&] { kernel.launch(geometry, arguments, stream); }, launches);
  return 2 * static_cast<double>(bytes) / us * 1e-3;
}

}  // namespace

CalibrateReply calibrate_gpu(const DeviceInfo& device, const gpu::Module& kernels,
                             const gpu::Stream& stream) {
  CalibrateReply reply;
  try {
    reply.fma_gflops = fma_gflops(device, kernels.kernel("multiply_adds"), stream);
    constexpr std::size_t kFarLargerThanCaches = std::size_t{1} << 30;
    reply.copy_gbps = copy_gbps(kernels.kernel("copy"), stream, device, kFarLargerThanCaches);
  } catch (const Error& error) {
    reply.problem = error.what();
  }
  return reply;
}

LimitingRates limiting_rates(const DeviceInfo& device, const gpu::Module& kernels,
                             const gpu::Stream& stream) {
  constexpr double kMargin = 1.25;  // clocks may have been lower meanwhile
  constexpr double kReadsOnly = 2;  // at most so much faster than copies
  constexpr int kLaunches = 100;    // so that the time between two of them counts little
  // Products of tensor cores, the shortest types included, at most so many times as fast as
  // multiply-adds; from compute capability 10.0 on they are twice as fast.
  constexpr double kTensorSpeed = 32;
  constexpr int kFasterCores = 10;
  LimitingRates rates;
  try {
    rates.f64_gflops = kMargin * fma_gflops(device, kernels.kernel("multiply_adds"), stream);
    rates.gflops = kTensorSpeed * (device.compute_major >= kFasterCores ? 2 : 1) * rates.f64_gflops;
    if (device.l2_bytes == 0) return rates;
    const auto bytes = static_cast<std::size_t>(device.l2_bytes / 8);
    rates.gbps =
        kMargin * kReadsOnly * copy_gbps(kernels.kernel("copy"), stream, device, bytes, kLaunches);
  } catch (const Error&) {
    return {};  // the device has no memory left for it
  }
  return rates;
}

double LimitingRates::least_us(const ProblemData& data) const {
  // Integers may be indices.
  const bool is_f64 =
      std::ranges::all_of(data.tensors,
                          [](const TensorDesc& tensor) {
                            return tensor.type == ElementType::f64 || is_integer(tensor.type);
                          }) &&
      std::ranges::any_of(data.tensors,
                          [](const TensorDesc& tensor) { return tensor.type == ElementType::f64; });
  const double rate = is_f64 ? f64_gflops : gflops;
  const double operations_us = rate > 0 ? data.work.operations / rate * 1e-3 : 0;
  return std::max(operations_us, gbps > 0 ? data.work.bytes / gbps * 1e-3 : 0);
}

}  // namespace autotune
