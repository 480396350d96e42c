// The common part of the descriptions of templates that multiply planes of FP16
// (device/multiply_planes.cuh): names for their parameters, the launch geometry, the cost model.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/problem.hpp"

#include "kernel_templates/gemm_template.hpp"

namespace autotune {

// A configuration's values by name. A constraint sees only those of its parameters set.
struct PlaneProducts {
  static constexpr std::int64_t kPlaneK = 64;             // elements of K in a k_tile
  static constexpr std::int64_t kRowBytes = 2 * kPlaneK;  // of a k_tile
  // The planes count elements of a row in 21 bits.
  static constexpr std::int64_t kMostK = (1 << 21) - 1;

  const Configuration& c;

  [[nodiscard]] std::int64_t tile_m() const { return 64 * warpgroups(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("BLOCK_N"); }
  [[nodiscard]] std::int64_t warpgroups() const { return c.at("WARPGROUPS"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }
  [[nodiscard]] std::int64_t cluster_k() const { return c.at("CLUSTER_K"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }

  // planes: of an operand, 1 or 2.
  [[nodiscard]] LaunchGeometry geometry(const GemmProblem& problem, std::int64_t planes) const;

  // Returns the cycles of the busiest SM, with those of a k_tile of all its blocks and of what a
  // tile costs besides.
  [[nodiscard]] double cycles(const TiledLaunch& launch, const GemmProblem& problem, int sm_count,
                              double k_tile_cycles, double tile_cycles) const;

 private:
  // Tiles of C along M, and all of them, in whole clusters.
  [[nodiscard]] std::int64_t clusters_m(const GemmProblem& problem) const;
  [[nodiscard]] std::int64_t cluster_tiles(const GemmProblem& problem) const;
};

// Returns the blocks of a cluster (CLUSTER_K) that split K of each tile of 64x64 by default: more
// than one where the tiles leave most SMs idle, as long as each block has several k_tiles.
[[nodiscard]] std::int64_t blocks_of_small_tile(const GemmProblem& problem, std::int64_t sms);
// The parameters of such a template, with the values of BLOCK_N.
[[nodiscard]] std::vector<TuningParameter> plane_parameters(std::vector<std::int64_t> block_n);
// Returns the constraint that MIN_BLOCKS is above 1 only for blocks with 64 rows.
[[nodiscard]] Constraint plane_blocks_constraint();
// Returns the constraint that K is split in one way at a time.
[[nodiscard]] Constraint plane_split_constraint();

// Makes a template from a description that lacks what does not depend on the number of products.
[[nodiscard]] KernelTemplate plane_template(GemmTemplate own);

// The products of planes that are computed for one of FP32, and the planes of an operand.
struct SplitProducts {
  int products = 0;
  std::int64_t planes = 0;
  std::int64_t least_k = 0;  // with fewer terms FP32 itself is more accurate on some data
  std::vector<std::int64_t> default_columns;  // the values of BLOCK_N for the default, ascending
};

// Fills in a description of a template with corrections, whose name, source and space are its own.
// It is as accurate as FP32, so it computes products with Math::emulated.
[[nodiscard]] GemmTemplate corrected_products(GemmTemplate own, const SplitProducts& split);
// Returns the constraints of all such templates.
[[nodiscard]] std::vector<Constraint> corrected_constraints();

}  // namespace autotune
