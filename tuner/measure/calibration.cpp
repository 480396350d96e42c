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

double least_us(const gpu::Stream& stream, const std::function<void()>& enqueue) {
  const LaunchTimer timer(stream, enqueue, nullptr);
  const TimingPlan plan{.samples = kRepeats, .launches_per_sample = 1};
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

double copy_gbps(const gpu::Kernel& kernel, const gpu::Stream& stream, const DeviceInfo& device) {
  // The copy is far larger than the caches.
  constexpr std::size_t kWantedBytes = std::size_t{1} << 30;
  constexpr std::size_t kElementBytes = 16;
  const std::size_t free = gpu::memory_info(stream.driver()).free_bytes;
  const std::size_t bytes = std::min(kWantedBytes, free / 4) / kElementBytes * kElementBytes;
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
  const double us = least_us(stream, [&] { kernel.launch(geometry, arguments, stream); });
  return 2 * static_cast<double>(bytes) / us * 1e-3;
}

}  // namespace

CalibrateReply calibrate_gpu(const DeviceInfo& device, const gpu::Module& kernels,
                             const gpu::Stream& stream) {
  CalibrateReply reply;
  try {
    reply.fma_gflops = fma_gflops(device, kernels.kernel("multiply_adds"), stream);
    reply.copy_gbps = copy_gbps(kernels.kernel("copy"), stream, device);
  } catch (const Error& error) {
    reply.problem = error.what();
  }
  return reply;
}

}  // namespace autotune
