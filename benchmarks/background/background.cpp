// Measures what tuning in the background costs a busy application: the rate of a loop of products
// that fills the GPU, with and without a Library that tunes another size meanwhile, in turn.
//
//   background --autotune build/portable/autotune
//
// Prints each second's loss and exits with 1 if the application lost more than --most on average,
// or nothing was tuned, or a product was wrong.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cuda_runtime_api.h>

#include "autotune/autotune.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

struct Options {
  std::string autotune;
  std::int64_t busy = 2048;
  std::vector<std::int64_t> tuned = {1000, 3000};
  double seconds = 30;  // of each part
  double budget_s = 1;  // of the GPU's time, for each size that is tuned
  double share = 0.05;
  double most = 0.07;
};

// Device memory, all of one value.
class Matrix {
 public:
  Matrix(std::int64_t elements, float value) : values_(static_cast<std::size_t>(elements), value) {
    check(cudaMalloc(&data_, values_.size() * sizeof(float)));
    check(
        cudaMemcpy(data_, values_.data(), values_.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Matrix() { cudaFree(data_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }
  // Returns whether every element has the value now.
  [[nodiscard]] bool is(float value) {
    check(
        cudaMemcpy(values_.data(), data_, values_.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return std::all_of(values_.begin(), values_.end(), [&](float one) { return one == value; });
  }

 private:
  std::vector<float> values_;
  void* data_ = nullptr;
};

// Square products of ones.
struct Product {
  explicit Product(std::int64_t n) : problem{n, n, n}, a(n * n, 1), b(n * n, 1), c(n * n, 0) {}

  MatchKind multiply(Library& library, cudaStream_t stream) {
    return library.gemm(problem, 1, {a.data()}, {b.data()}, 0, {c.data()}, stream);
  }
  [[nodiscard]] bool is_right() { return c.is(static_cast<float>(problem.k)); }

  GemmProblem problem;
  Matrix a, b, c;
};

// An application that never lets the GPU idle.
class Application {
 public:
  Application(std::int64_t n) : product_(n) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events_) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    product_.multiply(library_, stream_);
    check(cudaStreamSynchronize(stream_));
  }

  // The products of each second.
  std::vector<double> work(double seconds) {
    std::vector<double> rates;
    while (static_cast<double>(rates.size()) < seconds) {
      const Clock::time_point began = Clock::now();
      std::chrono::duration<double> passed{};
      long products = 0;
      do {
        cudaEvent_t& event = events_[static_cast<std::size_t>(turn_++ % 2)];
        check(cudaEventSynchronize(event));  // the other batch is being computed
        for (int i = 0; i < kBatch; ++i) product_.multiply(library_, stream_);
        check(cudaEventRecord(event, stream_));
        products += kBatch;
        passed = Clock::now() - began;
      } while (passed.count() < 1);
      rates.push_back(static_cast<double>(products) / passed.count());
    }
    check(cudaStreamSynchronize(stream_));
    return rates;
  }
  [[nodiscard]] bool is_right() { return product_.is_right(); }

 private:
  static constexpr int kBatch = 8;
  Library library_;  // MissPolicy::predict: its kernel stays
  Product product_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2] = {};
  int turn_ = 0;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Products that were called once and are being tuned.
class Background {
 public:
  explicit Background(const Options& options) : library_(library_options(options)) {
    for (const std::int64_t n : options.tuned) {
      products_.push_back(std::make_unique<Product>(n));
      products_.back()->multiply(library_, nullptr);
    }
    check(cudaDeviceSynchronize());
  }
  [[nodiscard]] int tuned() const { return tuned_; }
  // Multiplies with what was found.
  [[nodiscard]] bool is_right() {
    bool right = true;
    for (const auto& product : products_) {
      const MatchKind match = product->multiply(library_, nullptr);
      std::printf("%s: %s\n", to_string(product->problem).c_str(), to_string(match).c_str());
      right = right && product->is_right();
    }
    return right;
  }

 private:
  LibraryOptions library_options(const Options& options) {
    LibraryOptions result;
    result.miss = MissPolicy::background;
    result.miss_budget_seconds = options.budget_s;
    result.background_share = options.share;
    result.worker_program = options.autotune;
    result.log = [this](LogLevel, const std::string& line) {
      std::fprintf(stderr, "%s\n", line.c_str());
      if (line.find("was tuned in the background") != std::string::npos) ++tuned_;
    };
    return result;
  }

  std::atomic<int> tuned_ = 0;
  Library library_;
  std::vector<std::unique_ptr<Product>> products_;
};

int run(int argc, char** argv) {
  CLI::App app("Measures what tuning in the background costs a busy application.");
  Options options;
  app.add_option("--autotune", options.autotune, "path of the program autotune")->required();
  app.add_option("--busy", options.busy, "size of the application's products");
  app.add_option("--tuned", options.tuned, "sizes that are tuned meanwhile")->delimiter(',');
  app.add_option("--seconds", options.seconds, "of each of the three parts");
  app.add_option("--budget", options.budget_s, "seconds of the GPU for each size");
  app.add_option("--share", options.share, "of the GPU's time");
  app.add_option("--most", options.most, "the part of its rate that the application may lose");
  CLI11_PARSE(app, argc, argv);
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));
  Application application(options.busy);
  static_cast<void>(application.work(2));
  const std::vector<double> before = application.work(options.seconds);
  std::vector<double> during;
  int tuned = 0;
  bool right = true;
  {
    Background background(options);
    during = application.work(options.seconds);
    tuned = background.tuned();
    right = background.is_right();
  }
  const std::vector<double> after = application.work(options.seconds);
  const double alone = (mean(before) + mean(after)) / 2;
  const double loss = 1 - mean(during) / alone;
  std::printf(
      "products of %lld a second: %.1f before, %.1f meanwhile, %.1f after\nloss by second, in %%:",
      static_cast<long long>(options.busy), mean(before), mean(during), mean(after));
  for (const double rate : during) std::printf(" %.1f", 100 * (1 - rate / alone));
  std::printf("\nlost %.2f %% at a share of %.3g, with %d of %zu sizes tuned\n", 100 * loss,
              options.share, tuned, options.tuned.size());
  right = right && application.is_right();
  if (!right) std::printf("a product was wrong\n");
  return right && tuned > 0 && loss <= options.most ? 0 : 1;
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  try {
    return autotune::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
