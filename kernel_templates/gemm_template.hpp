// A kernel template for matrix multiplication, described in terms of GemmProblem.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "core/element_type.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {

// Element types, for GemmTemplate::types.
[[nodiscard]] inline bool is_fp32(const GemmTypes& types) {
  return types == GemmTypes();
}
[[nodiscard]] inline bool is_16_bit(const GemmTypes& types) {
  return !is_fp32(types) && are_computed(types);
}

// The fields of KernelTemplate, with functions of a GemmProblem.
struct GemmTemplate {
  std::string name;
  int space_version = 0;
  std::string_view source;
  ConfigSpace space;
  int min_compute_capability = 0;
  int end_compute_capability = 1000;

  bool (*types)(const GemmTypes&) = is_fp32;         // that its code computes
  std::function<bool(const GemmProblem&)> supports;  // batches too: see device/batch.cuh
  std::function<Configuration(const GemmProblem&)> default_configuration;
  std::function<LaunchGeometry(const Configuration&, const GemmProblem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;
  std::function<TileShape(const Configuration&)> tile_shape;
  // In place of the cost model of kernels that multiply with FFMA.
  std::function<double(const Configuration&, const TiledLaunch&, const GemmProblem&,
                       const SmLimits&, int sm_count)>
      cost_model = {};
  std::function<std::vector<std::string>(const GemmProblem&)> macros = {};
  std::function<TensorProducts(const GemmProblem&)> tensor_products = {};
  std::function<bool(const GemmProblem&)> first_choice = {};
  std::function<int(const Configuration&)> configuration_capability = {};
  bool takes_tensor_maps = false;
  bool takes_prepared_operands = false;  // A and B, behind its other arguments
  std::int64_t copying_threads = 0;
  bool architecture_specific = false;
  std::function<std::vector<std::string>(const Configuration&)> options = {};
  bool knows_alignment = false;
  bool needs_alignment = false;  // only problems whose rows_are_aligned() are supported then
  std::vector<LaunchParameter> launch_parameters = {};
};

// With the operation gemm, its signature, and the cost model of tiled GEMM kernels.
[[nodiscard]] KernelTemplate kernel_template(GemmTemplate gemm);

// Whether rows of all three matrices are multiples of 16 bytes where nothing pads them. Asked of
// every configuration of a space and by every gemm(), so without the problem's tensors.
[[nodiscard]] inline bool rows_are_aligned(const GemmProblem& problem) {
  const std::int64_t bytes = problem.lda() * size_bytes(problem.types.a) |
                             problem.ldb() * size_bytes(problem.types.b) |
                             problem.ldc() * size_bytes(problem.types.c);
  return bytes % 16 == 0;
}

}  // namespace autotune
