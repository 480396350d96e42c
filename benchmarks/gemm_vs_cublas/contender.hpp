// One of the ways to compute a product that gemm_vs_cublas times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "autotune/autotune.hpp"

#include "baseline/cublas.hpp"
#include "core/element_type.hpp"
#include "core/statistics.hpp"
#include "gpu/context.hpp"
#include "gpu/gpu.hpp"
#include "gpu/memory.hpp"
#include "gpu/nvml.hpp"
#include "random_matrix.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune {

// The device and its libraries, which all measurements use.
struct Machine {
  std::shared_ptr<const gpu::Driver> driver = gpu::Driver::open();
  DeviceInfo device = inspect_driver().devices.at(0);
  gpu::PrimaryContext context{driver, 0};
  gpu::ContextGuard current{context};
  gpu::Stream stream{*driver};
  gpu::Cublas cublas{*driver, stream};
  std::optional<gpu::Nvml> nvml = gpu::Nvml::open(device.uuid);
  CalibrateReply rates = std::get<CalibrateReply>(make_gpu_service(0)->handle(CalibrateRequest{}));
  Library library{{.device = Device::gpu(0)}};
};

inline double operand_bytes(const GemmProblem& p) {
  const auto bytes = [](std::int64_t a, std::int64_t b, ElementType type) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(size_bytes(type));
  };
  return bytes(p.m, p.k, p.types.a) + bytes(p.k, p.n, p.types.b) + bytes(p.m, p.n, p.types.c);
}

// Equal copies of a problem's operands, random and uniform in (-1, 1): more than twice what the L2 cache
// holds, so that using them in turn finds none of them there. The first alone stays there, if it
// fits.
class Operands {
 public:
  Operands(const Machine& machine, const GemmProblem& problem) : problem_(problem) {
    const double wanted = 2.1 * static_cast<double>(machine.device.l2_bytes);
    copies_ = static_cast<int>(std::clamp(std::ceil(wanted / operand_bytes(problem)), 1.0, 4096.0));
    a_ = buffer(machine, problem.m * problem.k, problem.types.a, 1);
    b_ = buffer(machine, problem.k * problem.n, problem.types.b, 2);
    c_ = buffer(machine, problem.m * problem.n, problem.types.c, 3);
  }

  [[nodiscard]] int copies() const { return copies_; }
  [[nodiscard]] std::uint64_t a(int copy) const {
    return place(a_, copy, problem_.m * problem_.k, problem_.types.a);
  }
  [[nodiscard]] std::uint64_t b(int copy) const {
    return place(b_, copy, problem_.k * problem_.n, problem_.types.b);
  }
  [[nodiscard]] std::uint64_t c(int copy) const {
    return place(c_, copy, problem_.m * problem_.n, problem_.types.c);
  }

 private:
  // Every copy begins at a multiple of 256 bytes.
  static std::int64_t padded(std::int64_t elements) { return (elements + 127) / 128 * 128; }
  static std::uint64_t place(const gpu::DeviceBuffer& buffer, int copy, std::int64_t elements,
                             ElementType type) {
    return buffer.address() +
           static_cast<std::uint64_t>(size_bytes(type) * padded(elements) * copy);
  }
  gpu::DeviceBuffer buffer(const Machine& machine, std::int64_t elements, ElementType type,
                           std::uint64_t seed) const {
    const auto one = static_cast<std::size_t>(padded(elements));
    const std::size_t bytes = one * static_cast<std::size_t>(size_bytes(type));
    const std::vector<float> values = random_matrix(one, -1, 1, seed);
    std::vector<std::byte> stored(bytes * static_cast<std::size_t>(copies_));
    for (std::size_t i = 0; i < one; ++i) {
      store_element(type, stored.data() + i * static_cast<std::size_t>(size_bytes(type)),
                    static_cast<double>(values[i]));
    }
    for (std::size_t at = bytes; at < stored.size(); at += bytes) {
      std::copy_n(stored.begin(), bytes, stored.begin() + static_cast<std::ptrdiff_t>(at));
    }
    gpu::DeviceBuffer result(*machine.driver, stored.size());
    result.copy_from_host(stored.data(), stored.size(), machine.stream);
    machine.stream.synchronize();
    return result;
  }

  GemmProblem problem_;
  int copies_ = 1;
  gpu::DeviceBuffer a_, b_, c_;
};

// One way to compute a product, with all operands the same or each time others.
class Contender {
 public:
  using Launch = std::function<void(const Operands&, int copy)>;

  Contender(const Machine& machine, const Operands& operands, bool rotated, Launch launch)
      : machine_(machine),
        operands_(operands),
        copies_(rotated ? operands.copies() : 1),
        launch_(std::move(launch)),
        start_(*machine.driver),
        end_(*machine.driver) {}

  // Decides how many launches a sample has: graphs of half a millisecond or more, or of all copies.
  void prepare(double sample_us) {
    launch_(operands_, 0);
    const double estimate = std::max(timed_us([&] { launch_(operands_, 0); }), 1.0);
    const double in_graph = std::clamp(std::ceil(kGraphUs / estimate), 1.0, 250.0);
    launches_ = (static_cast<int>(in_graph) + copies_ - 1) / copies_ * copies_;
    graph_.emplace(machine_.stream, [&] {
      for (int i = 0; i < launches_; ++i) launch_(operands_, i % copies_);
    });
    graphs_ = graphs_for(sample_us, timed_graphs_us(1));
  }

  void sample() { samples_.push_back(timed_graphs_us(graphs_)); }

  // The mean over this many seconds without a pause.
  double sustained_us(double seconds) {
    return timed_graphs_us(graphs_for(seconds * 1e6, median(samples_)));
  }

  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }

 private:
  static constexpr double kGraphUs = 500;

  [[nodiscard]] int graphs_for(double wanted_us, double launch_us) const {
    return std::max(1, static_cast<int>(std::ceil(wanted_us / (launch_us * launches_))));
  }
  // Microseconds of one launch. The time begins behind a graph that is not counted: what the
  // processor takes to launch the next passes while the device works.
  double timed_graphs_us(int graphs) {
    graph_->launch(machine_.stream);
    return timed_us([&] {
             for (int i = 0; i < graphs; ++i) graph_->launch(machine_.stream);
           }) /
           (static_cast<double>(graphs) * launches_);
  }
  double timed_us(const std::function<void()>& work) {
    start_.record(machine_.stream);
    work();
    end_.record(machine_.stream);
    end_.synchronize();
    return end_.elapsed_us_since(start_);
  }

  const Machine& machine_;
  const Operands& operands_;
  int copies_;
  Launch launch_;
  gpu::Event start_, end_;
  int launches_ = 1;  // in a graph
  int graphs_ = 1;    // in a sample
  std::optional<gpu::Graph> graph_;
  std::vector<double> samples_;
};

}  // namespace autotune
