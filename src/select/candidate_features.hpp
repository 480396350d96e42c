// The quantities of a configuration and a shape that the time of a product depends on.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/problem.hpp"

#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "select/correction_trees.hpp"

namespace autotune {

// A configuration for a product, with its launch on a device and the cost model's time of it.
struct ModelInput {
  const KernelTemplate* kernel = nullptr;
  const Configuration* configuration = nullptr;
  const GemmProblem* gemm = nullptr;  // row-major
  const Problem* problem = nullptr;   // the same, in names
  bool aligned = false;               // the operands are, as CodeTraits has it
  TiledLaunch launch = {};
  double cycles = 0;
};

// The features of candidates by name, in the order of a list. A name may be
//
//   m n k                      the sizes; these, and all that is not named as a flag, are
//                              logarithms to the base of 2
//   transposed_a transposed_b  flags
//   aligned                    a flag
//   cycles                     of the cost model
//   block_m block_n block_k    the tile of a block, and K of a k-tile
//   threads                    of a block
//   shared_bytes               of a block, static and dynamic
//   blocks_per_sm              blocks of the launch by the SMs of the device
//   idle                       the places of the last round of blocks, one for each SM, by those
//                              that are used
//   padding                    results of all tiles by those of C
//   k_tiles                    of a block
//   workspace                  a flag: blocks share results
//   gemm_simt, ...             a flag for each template
//   SPLIT_K, ...               the value of a parameter; -1 for templates without it
class CandidateFeatures {
 public:
  CandidateFeatures() = default;
  CandidateFeatures(const std::vector<std::string>& names, const KernelSet& kernels);

  // All names that the templates of a set give.
  [[nodiscard]] static std::vector<std::string> all_names(const KernelSet& kernels);

  [[nodiscard]] std::size_t count() const { return count_; }

  // A row for each name, in the order of the list, and one more that means nothing.
  [[nodiscard]] FeatureTable of(std::span<const ModelInput> candidates,
                                const DeviceInfo& device) const;

 private:
  std::size_t count_ = 0;
  // Rows of the table, `count_` where a feature was not asked for: of the derived features in their
  // order, and for each template of its flag and of its parameters in the space's order.
  struct OfTemplate {
    std::size_t flag = 0;
    std::vector<std::size_t> parameters;
  };
  std::vector<std::size_t> derived_;
  std::map<const KernelTemplate*, OfTemplate> templates_;
  std::vector<std::size_t> all_parameters_;
};

}  // namespace autotune
