// A kernel template for matrix multiplication, described in terms of GemmProblem.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// The fields of KernelTemplate, with functions of a GemmProblem.
struct GemmTemplate {
  std::string name;
  int space_version = 0;
  std::string_view source;
  ConfigSpace space;
  int min_compute_capability = 0;
  int end_compute_capability = 1000;

  std::function<bool(const GemmProblem&)> supports;
  std::function<Configuration(const GemmProblem&)> default_configuration;
  std::function<LaunchGeometry(const Configuration&, const GemmProblem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;
  std::function<TileShape(const Configuration&)> tile_shape;
  std::function<std::vector<WarpAccess>(const Configuration&, const GemmProblem&,
                                        std::int64_t warp)>
      warp_accesses = {};
  std::function<bool(const GemmProblem&)> first_choice = {};
  std::function<int(const Configuration&)> configuration_capability = {};
  bool takes_tensor_maps = false;
  std::int64_t copying_threads = 0;
  bool architecture_specific = false;
  std::function<std::vector<std::string>(const Configuration&)> ptxas_options = {};
  bool knows_alignment = false;
  std::vector<LaunchParameter> launch_parameters = {};
};

// With the operation gemm, its signature, and the cost model of tiled GEMM kernels.
[[nodiscard]] KernelTemplate kernel_template(GemmTemplate gemm);

// Returns whether rows of all three matrices, without padding, are multiples of 16 bytes.
[[nodiscard]] bool is_aligned(const GemmProblem& problem);

}  // namespace autotune
