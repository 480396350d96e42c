#include "accuracy.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "gpu/memory.hpp"
#include "random_matrix.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kDepths[] = {1, 2, 16, 100, 1000, 1024, 4096, 16384};
constexpr std::int64_t kSides[] = {48, 128};
constexpr float kLows[] = {-1, 0};  // of the range that ends at 1

struct Data {
  GemmProblem problem;
  std::vector<float> a, b;
};

// Sums in order of k, in `Number`.
template <typename Number>
std::vector<Number> sequential_product(const Data& data) {
  const auto [m, n, k] = std::tuple(data.problem.m, data.problem.n, data.problem.k);
  std::vector<Number> c(static_cast<std::size_t>(m * n));
  for (std::int64_t row = 0; row < m; ++row) {
    Number* const sums = c.data() + row * n;
    for (std::int64_t depth = 0; depth < k; ++depth) {
      const Number factor = data.a[static_cast<std::size_t>(row * k + depth)];
      const float* const others = data.b.data() + depth * n;
      for (std::int64_t column = 0; column < n; ++column) {
        sums[column] = std::fma(factor, static_cast<Number>(others[column]), sums[column]);
      }
    }
  }
  return c;
}

double relative_error(const std::vector<float>& result, const std::vector<double>& exact) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (result[i] - exact[i]) * (result[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  return std::sqrt(error / size);
}

class OnDevice {
 public:
  OnDevice(const gpu::Driver& driver, const gpu::Stream& stream, const Data& data)
      : stream_(stream),
        a_(driver, 4 * data.a.size()),
        b_(driver, 4 * data.b.size()),
        c_(driver, static_cast<std::size_t>(4 * data.problem.m * data.problem.n)) {
    a_.copy_from_host(data.a.data(), a_.size(), stream);
    b_.copy_from_host(data.b.data(), b_.size(), stream);
  }

  // Returns C after `launch(a, b, c)`.
  template <typename Launch>
  std::vector<float> result(Launch launch) const {
    launch(a_.address(), b_.address(), c_.address());
    std::vector<float> values(c_.size() / 4);
    c_.copy_to_host(values.data(), c_.size(), stream_);
    stream_.synchronize();
    return values;
  }

 private:
  const gpu::Stream& stream_;
  gpu::DeviceBuffer a_, b_, c_;
};

}  // namespace

ordered_json compare_accuracy(Library& library, const gpu::Driver& driver,
                              const gpu::Stream& stream, const gpu::Cublas& cublas) {
  ordered_json all = ordered_json::array();
  fmt::print("relative errors\n{:>16} {:>8} {:>10} {:>10} {:>10}\n", "size", "data", "gemm()",
             "cuBLAS", "sequential");
  for (const float low : kLows) {
    for (const std::int64_t side : kSides) {
      for (const std::int64_t depth : kDepths) {
        const GemmProblem p{.m = side, .n = side, .k = depth};
        const auto elements = static_cast<std::size_t>(side * depth);
        const Data data{p, random_matrix(elements, low, 1, 4), random_matrix(elements, low, 1, 5)};
        const OnDevice device(driver, stream, data);
        const std::vector<double> exact = sequential_product<double>(data);
        const double own =
            relative_error(device.result([&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
              library.gemm(p, 1, {reinterpret_cast<const float*>(a), p.lda()},
                           {reinterpret_cast<const float*>(b), p.ldb()}, 0,
                           {reinterpret_cast<float*>(c), p.ldc()}, stream.handle());
            }),
                           exact);
        const double other =
            relative_error(device.result([&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
              cublas.sgemm(p, 1, a, p.lda(), b, p.ldb(), 0, c, p.ldc());
            }),
                           exact);
        const double chain = relative_error(sequential_product<float>(data), exact);
        fmt::print("{:>16} {:>8} {:>10.2e} {:>10.2e} {:>10.2e}\n", to_string(p),
                   fmt::format("({}, 1)", low), own, other, chain);
        all.push_back({{"m", p.m},
                       {"n", p.n},
                       {"k", p.k},
                       {"low", low},
                       {"error", own},
                       {"cublas_error", other},
                       {"sequential_error", chain}});
      }
    }
  }
  return all;
}

}  // namespace autotune
