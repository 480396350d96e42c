#include "kernel_templates/gemm_tiled_accesses.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace autotune {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kWidest = 4;  // elements of one instruction

// One operand's constants and places, as the struct of this name in gemm_tiled.cu has them; there
// the names are explained. Threads count through the block.
struct Operand {
  std::int64_t tile_width, results;
  std::int64_t vector;
  bool k_major, shared_k_major, padded;
  std::int64_t rows, k, leading;  // of the matrix

  [[nodiscard]] std::int64_t tile_rows() const { return tile_width * results; }
  [[nodiscard]] std::int64_t step() const { return tile_width * vector; }
  [[nodiscard]] std::int64_t loads() const { return results / vector; }
  [[nodiscard]] std::int64_t chunk() const { return std::min<std::int64_t>(results, 4); }
  [[nodiscard]] std::int64_t space() const { return std::max(32 / tile_width, chunk()); }

  [[nodiscard]] std::int64_t own_row(std::int64_t thread) const {
    return k_major ? thread / (tile_width / vector) : thread % tile_width * vector;
  }
  [[nodiscard]] std::int64_t own_k(std::int64_t thread) const {
    return k_major ? thread % (tile_width / vector) * vector : thread / tile_width;
  }
  [[nodiscard]] bool whole() const {
    return leading % vector == 0 && rows >= tile_rows() && k >= tile_width;
  }

  // Returns the offset in shared memory of an element that `thread` multiplies.
  [[nodiscard]] std::int64_t shared_offset(std::int64_t thread, std::int64_t result,
                                           std::int64_t at_k) const {
    if (shared_k_major) return (result * tile_width + thread) * tile_width + at_k;
    const std::int64_t row = tile_rows() + (padded ? space() : 0);
    return at_k * row + (result / chunk() * tile_width + thread) * chunk() + result % chunk();
  }

  // Returns the offset in global memory of element e of a thread's load i, or of the element that
  // is read in its place where the matrix does not have it.
  [[nodiscard]] std::int64_t source(std::int64_t thread, std::int64_t i, std::int64_t e) const {
    const std::int64_t wanted = own_row(thread) + i * step() + (k_major ? 0 : e);
    const std::int64_t first = own_row(thread) < rows ? own_row(thread) : 0;
    const std::int64_t row = wanted < rows ? wanted : first;
    const std::int64_t at_k = std::min(own_k(thread) + (k_major ? e : 0), k - 1);
    return k_major ? row * leading + at_k : at_k * leading + row;
  }
};

// Returns a thread's first element of an access; nothing when it takes no part.
using Element = std::function<std::optional<std::int64_t>(std::int64_t thread)>;

WarpAccess access_of(std::int64_t warp, std::string name, MemorySpace space, std::int64_t width,
                     const Element& element) {
  WarpAccess access{std::move(name), space, width * kFloatBytes, {}};
  for (std::int64_t thread = kWarp * warp; thread < kWarp * (warp + 1); ++thread) {
    if (const auto first = element(thread)) access.offsets.push_back(*first * kFloatBytes);
  }
  return access;
}

// Elements at fixed distances from a base that is aligned like them, in instructions as the
// compiler makes them: neighbours go together.
std::vector<WarpAccess> shared_accesses(std::int64_t warp, const std::string& name,
                                        std::vector<std::int64_t> distances, const Element& base) {
  std::sort(distances.begin(), distances.end());
  std::vector<WarpAccess> accesses;
  for (auto first = distances.begin(); first != distances.end();) {
    const auto together = [&](std::int64_t width) {
      return *first % width == 0 && distances.end() - first >= width &&
             first[width - 1] == *first + width - 1;
    };
    std::int64_t width = kWidest;
    while (!together(width)) width /= 2;
    accesses.push_back(access_of(warp, name, MemorySpace::shared, width,
                                 [&](std::int64_t thread) { return *base(thread) + *first; }));
    first += width;
  }
  return accesses;
}

std::vector<WarpAccess> loads(std::int64_t warp, const std::string& name, const Operand& operand) {
  const std::int64_t width = operand.whole() ? operand.vector : 1;
  std::vector<WarpAccess> accesses;
  for (std::int64_t i = 0; i < operand.loads(); ++i) {
    for (std::int64_t e = 0; e < operand.vector; e += width) {
      accesses.push_back(
          access_of(warp, name, MemorySpace::global, width,
                    [&](std::int64_t thread) { return operand.source(thread, i, e); }));
    }
  }
  return accesses;
}

std::vector<WarpAccess> tile_stores(std::int64_t warp, const std::string& name,
                                    const Operand& operand) {
  std::vector<std::int64_t> distances;
  for (std::int64_t i = 0; i < operand.loads(); ++i) {
    for (std::int64_t e = 0; e < operand.vector; ++e) {
      distances.push_back(operand.shared_offset(operand.k_major ? 0 : e, i * operand.vector,
                                                operand.k_major ? e : 0));
    }
  }
  return shared_accesses(warp, name, distances, [&](std::int64_t thread) {
    const std::int64_t row = operand.own_row(thread);
    return operand.shared_offset(row % operand.tile_width,
                                 row / operand.tile_width % operand.vector, operand.own_k(thread));
  });
}

// Returns the reads of one turn of the inner loop, `unroll` steps. `own`: the thread's place among
// the rows.
std::vector<WarpAccess> tile_reads(std::int64_t warp, const std::string& name,
                                   const Operand& operand, std::int64_t unroll,
                                   const std::function<std::int64_t(std::int64_t)>& own) {
  std::vector<std::int64_t> distances;
  for (std::int64_t at_k = 0; at_k < unroll; ++at_k) {
    for (std::int64_t result = 0; result < operand.results; ++result) {
      distances.push_back(operand.shared_offset(0, result, at_k));
    }
  }
  return shared_accesses(warp, name, distances, [&](std::int64_t thread) {
    return operand.shared_offset(own(thread), 0, 0);
  });
}

// C, a result at a time; threads whose result C does not have are idle.
std::vector<WarpAccess> stores(std::int64_t warp, const GemmProblem& problem, const Operand& a,
                               const Operand& b) {
  const std::int64_t width = a.tile_width;
  std::vector<WarpAccess> accesses;
  for (std::int64_t i = 0; i < a.results; ++i) {
    for (std::int64_t j = 0; j < b.results; ++j) {
      WarpAccess access = access_of(warp, "store C", MemorySpace::global, 1,
                                    [&](std::int64_t thread) -> std::optional<std::int64_t> {
                                      const std::int64_t row = thread / width + i * width;
                                      const std::int64_t column = thread % width + j * width;
                                      if (row >= problem.m || column >= problem.n)
                                        return std::nullopt;
                                      return row * problem.ldc() + column;
                                    });
      if (!access.offsets.empty()) accesses.push_back(std::move(access));
    }
  }
  return accesses;
}

Operand operand_a(const Configuration& configuration, const GemmProblem& problem) {
  const bool transposed = problem.op_a == Transpose::transposed;
  const std::int64_t results = configuration.at("RESULTS_M");
  return {.tile_width = configuration.at("TILE_WIDTH"),
          .results = results,
          .vector = std::min(configuration.at("VECTOR_WIDTH"), results),
          .k_major = !transposed,
          .shared_k_major = configuration.at("A_TRANSPOSED") == 0,
          .padded = configuration.at("PADDING") != 0 && !transposed,
          .rows = problem.m,
          .k = problem.k,
          .leading = problem.lda()};
}

Operand operand_b(const Configuration& configuration, const GemmProblem& problem) {
  const bool transposed = problem.op_b == Transpose::transposed;
  const std::int64_t results = configuration.at("RESULTS_N");
  return {.tile_width = configuration.at("TILE_WIDTH"),
          .results = results,
          .vector = std::min(configuration.at("VECTOR_WIDTH"), results),
          .k_major = transposed,
          .shared_k_major = false,
          .padded = transposed,
          .rows = problem.n,
          .k = problem.k,
          .leading = problem.ldb()};
}

}  // namespace

std::vector<WarpAccess> gemm_tiled_accesses(const Configuration& configuration,
                                            const GemmProblem& problem, std::int64_t warp) {
  const Operand a = operand_a(configuration, problem);
  const Operand b = operand_b(configuration, problem);
  const std::int64_t width = configuration.at("TILE_WIDTH");
  const std::int64_t unroll = configuration.at("UNROLL");
  std::vector<WarpAccess> all;
  const auto add = [&all](std::vector<WarpAccess> accesses) {
    std::move(accesses.begin(), accesses.end(), std::back_inserter(all));
  };
  add(loads(warp, "load A", a));
  add(loads(warp, "load B", b));
  add(tile_stores(warp, "store tile of A", a));
  add(tile_stores(warp, "store tile of B", b));
  add(tile_reads(warp, "read tile of A", a, unroll, [&](auto t) { return t / width; }));
  add(tile_reads(warp, "read tile of B", b, unroll, [&](auto t) { return t % width; }));
  add(stores(warp, problem, a, b));
  return all;
}

}  // namespace autotune
