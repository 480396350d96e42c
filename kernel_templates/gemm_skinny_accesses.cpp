#include "kernel_templates/gemm_skinny_accesses.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace autotune {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kWidest = 4;  // elements of one instruction
constexpr std::int64_t kChunkFloats = 8192;

// The constants and places of gemm_skinny.cu, under its names, where they are explained.
struct Block {
  const Configuration& c;
  const GemmProblem& problem;

  [[nodiscard]] bool few_rows() const { return c.at("FEW_SIDE") == 0; }
  [[nodiscard]] bool a_k_major() const { return problem.op_a == Transpose::none; }
  [[nodiscard]] bool b_k_major() const { return problem.op_b == Transpose::transposed; }
  [[nodiscard]] bool k_major() const { return few_rows() ? b_k_major() : a_k_major(); }
  [[nodiscard]] bool few_k_major() const { return few_rows() ? a_k_major() : b_k_major(); }
  [[nodiscard]] std::int64_t all_few() const { return few_rows() ? problem.m : problem.n; }
  [[nodiscard]] std::int64_t all_rows() const { return few_rows() ? problem.n : problem.m; }
  [[nodiscard]] std::int64_t leading() const { return few_rows() ? problem.ldb() : problem.lda(); }
  [[nodiscard]] std::int64_t few_leading() const {
    return few_rows() ? problem.lda() : problem.ldb();
  }

  [[nodiscard]] std::int64_t few() const { return c.at("FEW"); }
  [[nodiscard]] std::int64_t rows() const { return c.at("LINES"); }
  [[nodiscard]] std::int64_t unroll() const { return c.at("UNROLL"); }
  [[nodiscard]] std::int64_t warps() const { return c.at("WARPS"); }
  [[nodiscard]] std::int64_t threads() const { return kWarp * warps() * c.at("SLICES"); }
  [[nodiscard]] std::int64_t lanes_k() const { return c.at("LANES_K"); }
  [[nodiscard]] std::int64_t across() const { return kWarp / lanes_k(); }
  [[nodiscard]] std::int64_t block_rows() const { return warps() * rows() * across(); }
  [[nodiscard]] std::int64_t neighbours() const {
    return k_major() ? 1 : std::min(rows(), kWidest);
  }
  [[nodiscard]] std::int64_t run() const { return k_major() ? kWidest : 1; }
  [[nodiscard]] std::int64_t row_offset(std::int64_t row) const {
    return row / neighbours() * across() * neighbours() + row % neighbours();
  }
  [[nodiscard]] std::int64_t batch() const { return unroll() * lanes_k(); }
  [[nodiscard]] std::int64_t step() const { return c.at("SLICES") * batch(); }
  [[nodiscard]] std::int64_t chunk() const {
    return step() * std::max<std::int64_t>(1, kChunkFloats / (few() * step()));
  }
  // Returns the end of K for the first of the blocks that share a tile.
  [[nodiscard]] std::int64_t k_end() const {
    const std::int64_t batches = (problem.k - 1) / batch() + 1;
    const std::int64_t parts = std::min(c.at("SPLIT_K"), batches);
    return std::min(((batches - 1) / parts + 1) * batch(), problem.k);
  }

  // Returns the offset in shared memory of element k of row f.
  [[nodiscard]] std::int64_t shared_offset(std::int64_t f, std::int64_t k) const {
    return k_major() ? f * chunk() + k : k * few() + f;
  }
  // Returns the offset of an element of the large operand in global memory.
  [[nodiscard]] std::int64_t source(std::int64_t row, std::int64_t k) const {
    return k_major() ? row * leading() + k : k * leading() + row;
  }
  // Return the k of a lane's element i, and its first row, from the block's first.
  [[nodiscard]] std::int64_t own_k(std::int64_t warp, std::int64_t lane, std::int64_t i) const {
    return warp / warps() * batch() + (i / run() * lanes_k() + lane / across()) * run() + i % run();
  }
  [[nodiscard]] std::int64_t own_row(std::int64_t warp, std::int64_t lane) const {
    return warp % warps() * rows() * across() + lane % across() * neighbours();
  }
};

// Makes an access of `width` elements for each lane.
WarpAccess access(std::string name, MemorySpace space, std::int64_t width) {
  return {std::move(name), space, width * kFloatBytes, {}};
}

void add(std::vector<WarpAccess>& all, WarpAccess one) {
  if (!one.offsets.empty()) all.push_back(std::move(one));
}

// Adds the loads of a large operand that is MN-major: neighbouring rows of one k at a time.
void load_mn_major(const Block& b, std::int64_t warp, const std::string& name,
                   std::vector<WarpAccess>& all) {
  const std::int64_t width = b.neighbours();
  for (std::int64_t i = 0; i < b.unroll(); ++i) {
    for (std::int64_t first = 0; first < b.rows(); first += width) {
      WarpAccess vectors = access(name, MemorySpace::global, width);
      std::vector<WarpAccess> singles(static_cast<std::size_t>(width),
                                      access(name, MemorySpace::global, 1));
      for (std::int64_t lane = 0; lane < kWarp; ++lane) {
        const std::int64_t k = b.own_k(warp, lane, i);
        if (k >= b.k_end()) continue;
        const std::int64_t own = b.own_row(warp, lane);
        if (b.leading() % kWidest == 0 && own + b.row_offset(b.rows() - 1) < b.all_rows()) {
          vectors.offsets.push_back(b.source(own + b.row_offset(first), k) * kFloatBytes);
          continue;
        }
        for (std::int64_t e = 0; e < width; ++e) {
          const std::int64_t row = std::min(own + b.row_offset(first + e), b.all_rows() - 1);
          singles[static_cast<std::size_t>(e)].offsets.push_back(b.source(row, k) * kFloatBytes);
        }
      }
      add(all, std::move(vectors));
      for (WarpAccess& single : singles) add(all, std::move(single));
    }
  }
}

// Adds the loads of a large operand that is K-major: neighbouring k of one row at a time.
void load_k_major(const Block& b, std::int64_t warp, const std::string& name,
                  std::vector<WarpAccess>& all) {
  for (std::int64_t i = 0; i < b.unroll(); i += kWidest) {
    for (std::int64_t row = 0; row < b.rows(); ++row) {
      WarpAccess vectors = access(name, MemorySpace::global, kWidest);
      std::vector<WarpAccess> singles(kWidest, access(name, MemorySpace::global, 1));
      for (std::int64_t lane = 0; lane < kWarp; ++lane) {
        const std::int64_t k = b.own_k(warp, lane, i);
        const std::int64_t matrix_row =
            std::min(b.own_row(warp, lane) + b.row_offset(row), b.all_rows() - 1);
        if (b.leading() % kWidest == 0 && k + kWidest <= b.k_end()) {
          vectors.offsets.push_back(b.source(matrix_row, k) * kFloatBytes);
          continue;
        }
        for (std::int64_t e = 0; e < kWidest && k + e < b.k_end(); ++e) {
          singles[static_cast<std::size_t>(e)].offsets.push_back(b.source(matrix_row, k + e) *
                                                                 kFloatBytes);
        }
      }
      add(all, std::move(vectors));
      for (WarpAccess& single : singles) add(all, std::move(single));
    }
  }
}

// Adds the copies of the first chunk of the few rows.
void copy_few(const Block& b, std::int64_t warp, const std::string& name,
              std::vector<WarpAccess>& all) {
  const std::int64_t count = std::min(b.chunk(), b.k_end());
  const std::int64_t rounded = (count - 1) / b.step() * b.step() + b.step();
  for (std::int64_t first = 0; first < b.few() * rounded; first += b.threads()) {
    WarpAccess load = access("load " + name, MemorySpace::global, 1);
    WarpAccess store = access("store tile of " + name, MemorySpace::shared, 1);
    for (std::int64_t thread = kWarp * warp; thread < kWarp * (warp + 1); ++thread) {
      const std::int64_t e = first + thread;
      if (e >= b.few() * rounded) continue;
      const std::int64_t f = b.few_k_major() ? e / rounded : e % b.few();
      const std::int64_t k = b.few_k_major() ? e % rounded : e / b.few();
      store.offsets.push_back(b.shared_offset(f, k) * kFloatBytes);
      if (f >= b.all_few() || k >= count) continue;
      load.offsets.push_back((b.few_k_major() ? f * b.few_leading() + k : k * b.few_leading() + f) *
                             kFloatBytes);
    }
    add(all, std::move(load));
    add(all, std::move(store));
  }
}

void read_few(const Block& b, std::int64_t warp, const std::string& name,
              std::vector<WarpAccess>& all) {
  const std::int64_t width = b.k_major() ? kWidest : std::min(b.few(), kWidest);
  for (std::int64_t i = 0; i < b.unroll(); i += b.run()) {
    for (std::int64_t f = 0; f < b.few(); f += b.k_major() ? 1 : width) {
      WarpAccess read = access("read tile of " + name, MemorySpace::shared, width);
      for (std::int64_t lane = 0; lane < kWarp; ++lane) {
        read.offsets.push_back(b.shared_offset(f, b.own_k(warp, lane, i)) * kFloatBytes);
      }
      add(all, std::move(read));
    }
  }
}

void store_results(const Block& b, std::int64_t warp, std::vector<WarpAccess>& all) {
  const std::int64_t tile = b.few() * b.block_rows();
  for (std::int64_t first = kWarp * warp; first < tile; first += b.threads()) {
    WarpAccess store = access("store C", MemorySpace::global, 1);
    for (std::int64_t e = first; e < std::min(first + kWarp, tile); ++e) {
      const std::int64_t f = e / b.block_rows();
      const std::int64_t row = e % b.block_rows();
      if (f >= b.all_few() || row >= b.all_rows()) continue;
      const std::int64_t ldc = b.problem.ldc();
      store.offsets.push_back((b.few_rows() ? f * ldc + row : row * ldc + f) * kFloatBytes);
    }
    add(all, std::move(store));
  }
}

}  // namespace

std::vector<WarpAccess> gemm_skinny_accesses(const Configuration& configuration,
                                             const GemmProblem& problem, std::int64_t warp) {
  const Block block{configuration, problem};
  const std::string many = block.few_rows() ? "B" : "A";
  const std::string few = block.few_rows() ? "A" : "B";
  std::vector<WarpAccess> all;
  if (block.k_major()) {
    load_k_major(block, warp, "load " + many, all);
  } else {
    load_mn_major(block, warp, "load " + many, all);
  }
  copy_few(block, warp, few, all);
  read_few(block, warp, few, all);
  store_results(block, warp, all);
  return all;
}

}  // namespace autotune
