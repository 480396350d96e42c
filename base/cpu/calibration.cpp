#include "cpu/calibration.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;
using Lanes = float __attribute__((vector_size(32)));

constexpr int kLanes = 8;
constexpr int kChains = 10;  // independent of each other, so that one can proceed in every cycle
constexpr int kSteps = 1 << 20;

// The products and sums are fused if the function that this one is inlined into may do so.
[[gnu::always_inline]] inline float run_chains() {
  const Lanes factor = Lanes{} + 0.999F;
  Lanes chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Lanes{} + static_cast<float>(i);
  for (int n = 0; n < kSteps; ++n) {
    for (Lanes& chain : chains) chain = chain * factor + factor;
  }
  Lanes sum{};
  for (const Lanes& chain : chains) sum += chain;
  return sum[0];
}

#if defined(__x86_64__)
// This file is compiled for any x86-64, but this function for processors with FMA instructions.
[[gnu::target("avx2,fma")]] float run_fused_chains() {
  return run_chains();
}
#endif

float run_plain_chains() {
  return run_chains();
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

double measure_multiply_adds(ThreadPool& pool) {
#if defined(__x86_64__)
  const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  auto* const run = fused ? run_fused_chains : run_plain_chains;
#else
  auto* const run = run_plain_chains;
#endif
  std::vector<float> results(pool.size());
  const Clock::time_point start = Clock::now();
  pool.for_each(pool.size(), [&](std::size_t item, std::size_t) { results[item] = run(); });
  const double work = 2.0 * kLanes * kChains * kSteps * static_cast<double>(pool.size());
  return work / seconds_since(start) * 1e-9;
}

double measure_copying(ThreadPool& pool) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;  // per thread: beyond its cache
  std::vector<std::vector<char>> from(pool.size(), std::vector<char>(kBytes, 1));
  std::vector<std::vector<char>> to(pool.size(), std::vector<char>(kBytes, 2));
  const Clock::time_point start = Clock::now();
  pool.for_each(pool.size(), [&](std::size_t item, std::size_t) {
    std::memcpy(to[item].data(), from[item].data(), kBytes);
  });
  return 2.0 * static_cast<double>(kBytes * pool.size()) / seconds_since(start) * 1e-9;
}

}  // namespace autotune
