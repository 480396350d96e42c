// What the program knows of a kernel template: its source text and, beside it, its search space,
// launch geometry and defaults. A template is two files, <name>.cu and <name>.cpp; the registry is
// generated from their names.
//
// Every kernel has the same signature, under the template's own name as a C symbol:
//
//   extern "C" __global__ void <name>(const float* a, const float* b, float* c,
//                                     long long m, long long n, long long k,
//                                     long long lda, long long ldb, long long ldc,
//                                     float alpha, float beta, float* scratch, unsigned raster);
//
// and behind these, where a kernel takes tensor maps, `const __grid_constant__ TensorMap map_a` and
// `map_b` (128 bytes each; of an operand that geometry() names no box of, nothing). Code for
// operands that are not aligned does not use them.
//
// It computes C = alpha * op(A) * op(B) + beta * C, row-major, leading dimensions in elements, and
// is compiled with one macro for each parameter of the configuration (see LaunchParameter) and with
// the macros TRANSPOSE_A, TRANSPOSE_B and ALIGNED (0 or 1: see OperandTraits).
//
// scratch: memory for blocks that share the work of one result, as much as geometry() asks for. Its
// first kWorkspaceCounters words are zero when a kernel starts and must be so when it ends; the
// rest holds anything. Launches that may run at the same time get memory of their own. raster: that
// of geometry().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

#include "core/config_space.hpp"
#include "core/device_info.hpp"
#include "core/launch_geometry.hpp"
#include "kernel_templates/access_pattern.hpp"

namespace autotune {

// A configuration in the words of the command line, for filters and tables.
struct TileShape {
  std::int64_t tile_width = 0;  // of a template with TILE_WIDTH, else 0
  std::int64_t results_m = 0;   // results of one thread along M
  std::int64_t results_n = 0;   // results of one thread along N
  std::int64_t unroll = 0;      // of the inner loop; block_k when it is unrolled fully
  std::int64_t block_m = 0;     // the tile of C that a block computes
  std::int64_t block_n = 0;
  std::int64_t block_k = 0;  // what it takes of K in one phase

  [[nodiscard]] std::int64_t results() const { return results_m * results_n; }
};

// What a kernel's code takes for granted of its operands.
struct OperandTraits {
  Operation op_a = Operation::plain;
  Operation op_b = Operation::plain;
  // Pointers are multiples of 16 bytes; leading dimensions, and the extents of all matrices along
  // which elements lie side by side, are multiples of 4; leading dimensions are less than 2^38.
  bool aligned = false;

  auto operator<=>(const OperandTraits&) const = default;
};

// Of operands that no padding separates, at multiples of 16 bytes.
[[nodiscard]] OperandTraits unpadded_traits(const GemmProblem& problem);

// A parameter that from the value `least` on is the launch's matter and not the code's. Where all
// its values are, the code has no macro for it.
struct LaunchParameter {
  std::string_view name;
  std::int64_t least = 0;
};

// Immutable; shared freely between threads.
struct KernelTemplate {
  std::string name;       // file stem, C symbol, command-line name and database value
  int space_version = 0;  // raised by hand when the parameters change meaning
  std::string_view source;
  ConfigSpace space;
  int min_compute_capability = 0;     // 10 * major + minor; of the least demanding configuration
  int end_compute_capability = 1000;  // from here on devices lack what it needs

  std::function<bool(const GemmProblem&)> supports;
  std::function<Configuration(const GemmProblem&)> default_configuration;
  std::function<LaunchGeometry(const Configuration&, const GemmProblem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;  // static, a block
  std::function<TileShape(const Configuration&)> tile_shape;
  // The accesses of one warp of the block at C's origin: what it loads and stores in its first
  // phase, what it reads from shared memory in one turn of the inner loop, its stores of C.
  std::function<std::vector<WarpAccess>(const Configuration&, const GemmProblem&,
                                        std::int64_t warp)>
      warp_accesses;
  // Problems for which its default goes before those of other templates, where nothing is known.
  std::function<bool(const GemmProblem&)> first_choice = {};
  // What a configuration needs beyond min_compute_capability.
  std::function<int(const Configuration&)> configuration_capability = {};
  // Whether geometry() asks for tensor maps where operands are aligned: see LaunchGeometry.
  bool takes_tensor_maps = false;
  // Of a block: they bring operands for the others, and need few registers.
  std::int64_t copying_threads = 0;
  // Whether code for a device's own architecture uses what later ones may lack (sm_90a).
  bool architecture_specific = false;
  // For parameters that are the compiler's and not the kernel's.
  std::function<std::vector<std::string>(const Configuration&)> ptxas_options = {};
  // Whether its code depends on OperandTraits::aligned.
  bool knows_alignment = false;
  // Configurations that differ in these alone are compiled once, with the least of their values.
  std::vector<LaunchParameter> launch_parameters = {};
};

// The templates that the program was built with, in alphabetical order.
[[nodiscard]] const std::vector<KernelTemplate>& kernel_templates();
// Those to try on a device: all that it can run, but on the host device, where times say nothing of
// a GPU, only the ones for any GPU, which add up in one order.
[[nodiscard]] std::vector<const KernelTemplate*> templates_for(const DeviceInfo& device);
// nullptr when there is none of that name.
[[nodiscard]] const KernelTemplate* find_kernel_template(std::string_view name);

// Whether devices of a compute capability, 10 * major + minor, can run any configuration.
[[nodiscard]] bool runs_on(const KernelTemplate& kernel, int capability);
// The least compute capability, 10 * major + minor, for one configuration of a template.
[[nodiscard]] int needed_capability(const KernelTemplate& kernel,
                                    const Configuration& configuration);

// The configuration whose values the macros have.
[[nodiscard]] Configuration compiled_as(const KernelTemplate& kernel, Configuration configuration);
// The configurations with the machine code of this one: itself first, and those that only their
// launch parameters tell apart, whether valid or not.
[[nodiscard]] std::vector<Configuration> with_the_code_of(const KernelTemplate& kernel,
                                                          const Configuration& configuration);

// The traits whose values the macros have.
[[nodiscard]] OperandTraits compiled_for(const KernelTemplate& kernel, OperandTraits operands);

// NVRTC's option for an architecture: "sm_90", a device's own, or "compute_90", for later ones too.
[[nodiscard]] std::string architecture_option(const KernelTemplate& kernel,
                                              const std::string& architecture);
// NVRTC's options for one configuration: the macros and what every template is compiled with. That
// for the architecture is the first of them.
[[nodiscard]] std::vector<std::string> compile_options(const KernelTemplate& kernel,
                                                       const Configuration& configuration,
                                                       const OperandTraits& operands,
                                                       const std::string& architecture);

// Constraints that a device puts on a template's configurations: threads and shared memory of a
// block, compute capability.
[[nodiscard]] std::vector<Constraint> device_constraints(const KernelTemplate& kernel,
                                                         const DeviceInfo& device);

}  // namespace autotune
