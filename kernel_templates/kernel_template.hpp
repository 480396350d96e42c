// The description of a kernel template: the operation that it computes, its source text, its
// arguments, its search space, launch geometry and defaults. A built-in template is two files,
// <name>.cu and <name>.cpp; the list of them is generated from their names.
//
// A kernel is a C symbol of the template's name, extern "C" __global__ void <name>(...), with the
// arguments that `signature` lists. It is compiled with one macro for each parameter of the
// configuration (see LaunchParameter), with the operation's macros and with ALIGNED (0 or 1: see
// CodeTraits).
//
// workspace: memory for blocks that share the work of one result, as much as geometry() asks for.
// Its first kWorkspaceCounters words are zero when a kernel starts and must be so when it ends; the
// rest holds anything. Launches that may run at the same time get memory of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config_space.hpp"
#include "core/device_info.hpp"
#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"
#include "core/occupancy.hpp"
#include "operation/operation.hpp"

namespace autotune {

// A configuration in the words of the command line, for filters and tables.
struct TileShape {
  std::int64_t tile_width = 0;  // of a template with TILE_WIDTH, else 0
  std::int64_t results_m = 0;   // results of one thread along the output's rows
  std::int64_t results_n = 0;   // results of one thread along the output's columns
  std::int64_t unroll = 0;      // of the inner loop; block_k when it is unrolled fully
  std::int64_t block_m = 0;     // the tile of the output that a block computes
  std::int64_t block_n = 0;
  std::int64_t block_k = 0;  // elements along K of one k-tile

  [[nodiscard]] std::int64_t results() const { return results_m * results_n; }
};

// The properties of a problem and its tensors that a kernel's code may depend on.
struct CodeTraits {
  std::vector<std::string> macros;  // code_macros()
  // Addresses and strides of all tensors are multiples of 16 bytes, their rows too; strides are
  // less than 2^40 bytes.
  bool aligned = false;

  auto operator<=>(const CodeTraits&) const = default;
};

// The launch of a configuration for a problem on a device, from which cost models compute.
struct TiledLaunch {
  TileShape tile;                    // all 0 of a template without
  LaunchGeometry geometry;           // on the device
  std::int64_t shared_bytes = 0;     // of a block, static and dynamic
  std::int64_t copying_threads = 0;  // of a block
};

// What tensor cores multiply, by the rate of the multiplication.
enum class TensorInput : std::uint8_t { fp16, tf32 };

// The arithmetic of a kernel that multiplies on tensor cores.
struct TensorProducts {
  TensorInput input = TensorInput::fp16;
  int products = 1;  // on tensor cores for each of the problem's
  int planes = 0;    // of 2 bytes an element, which the kernel first writes of each input
};

// A parameter that the code does not see for values from `least` on: the launch passes it instead.
// Where all its values are such, the code has no macro for it.
struct LaunchParameter {
  std::string_view name;
  std::int64_t least = 0;
};

// Immutable; shared freely between threads.
struct KernelTemplate {
  std::string name;       // file stem, C symbol, command-line name and database value
  int space_version = 0;  // raised by hand when the parameters change meaning
  const Operation* operation = nullptr;  // computed by the kernel; outlives the template
  std::string_view source;
  ConfigSpace space;
  int min_compute_capability = 0;     // 10 * major + minor; of the least demanding configuration
  int end_compute_capability = 1000;  // the first that can no longer run it

  // Functions of problems of its operation. See computes().
  std::function<KernelSignature(const Problem&)> signature;
  std::function<bool(const Problem&)> supports;
  std::function<Configuration(const Problem&)> default_configuration;
  std::function<LaunchGeometry(const Configuration&, const Problem&)> geometry;
  std::function<std::int64_t(const Configuration&)> shared_bytes;  // static, a block
  // Left out by kernels that do not divide their output so.
  std::function<TileShape(const Configuration&)> tile_shape = {};
  // The problems whose launches need the most threads and shared memory of a block, and the most
  // workspace: a configuration is valid on a device if they stay within its limits.
  std::vector<Problem> limiting_problems;

  // All below may be left out.

  // Clock cycles on a device with `sm_count` of these SMs (kernel_templates/cost_model.hpp). The
  // launch is that of the configuration for the problem there.
  std::function<double(const Configuration&, const TiledLaunch&, const Problem&, const SmLimits&,
                       int sm_count)>
      cost_model = {};
  // The names of its parameters, where these are not those of what they get.
  std::vector<std::string> argument_names = {};
  // Macros that its code needs for a problem beside the operation's, if any.
  std::function<std::vector<std::string>(const Problem&)> macros = {};
  // Left out by kernels that multiply with FFMA.
  std::function<TensorProducts(const Problem&)> tensor_products = {};
  // Problems for which its default goes before those of other templates, where nothing is known.
  std::function<bool(const Problem&)> first_choice = {};
  // The compute capability that a configuration needs, where that is more than the template does.
  std::function<int(const Configuration&)> configuration_capability = {};
  // True: geometry() asks for tensor maps where tensors are aligned. See LaunchGeometry.
  bool takes_tensor_maps = false;
  // Threads of a block that copy tensors for the others, and need few registers.
  std::int64_t copying_threads = 0;
  // True: code for a device's own architecture uses features that later ones may lack (sm_90a).
  bool architecture_specific = false;
  // The compiler's options for parameters that are the compiler's and not the kernel's.
  std::function<std::vector<std::string>(const Configuration&)> options = {};
  // True: its code depends on CodeTraits::aligned.
  bool knows_alignment = false;
  // True: it computes with tensors alone for which CodeTraits::aligned holds.
  bool needs_alignment = false;
  // Configurations that differ in these alone are compiled once, with the least of their values.
  std::vector<LaunchParameter> launch_parameters = {};
  // The configurations of the space that can compute a problem; left out: all.
  std::function<bool(const Configuration&, const Problem&)> fits = {};
  // True: a configuration that spills registers is measured as any other.
  bool may_spill = false;
};

// Returns whether a template computes a problem: the operation is its own, and it supports the
// sizes and traits.
[[nodiscard]] bool computes(const KernelTemplate& kernel, const Problem& problem);

// The macros that a template's code needs for a problem: the operation's and its own.
[[nodiscard]] std::vector<std::string> code_macros(const KernelTemplate& kernel,
                                                   const Problem& problem);

// The traits of a problem's code for tensors that no padding separates, at multiples of 16 bytes.
// The macros are the operation's alone.
[[nodiscard]] CodeTraits unpadded_traits(const Operation& operation, const Problem& problem);

[[nodiscard]] TiledLaunch tiled_launch(const KernelTemplate& kernel,
                                       const Configuration& configuration, const Problem& problem,
                                       int sm_count);

// By the cost model, which the template has.
[[nodiscard]] double predicted_cycles(const KernelTemplate& kernel,
                                      const Configuration& configuration, const Problem& problem,
                                      const SmLimits& sm, int sm_count);

// Returns whether devices of a compute capability, 10 * major + minor, can run any configuration.
[[nodiscard]] bool runs_on(const KernelTemplate& kernel, int capability);
// The least compute capability, 10 * major + minor, for one configuration of a template.
[[nodiscard]] int needed_capability(const KernelTemplate& kernel,
                                    const Configuration& configuration);

// The configuration whose values the macros have.
[[nodiscard]] Configuration compiled_as(const KernelTemplate& kernel, Configuration configuration);
// The configurations with the machine code of this one: itself first, and those that differ from it
// in launch parameters alone, whether valid or not.
[[nodiscard]] std::vector<Configuration> with_the_code_of(const KernelTemplate& kernel,
                                                          const Configuration& configuration);

// The traits whose values the macros have.
[[nodiscard]] CodeTraits compiled_for(const KernelTemplate& kernel, CodeTraits traits);

// The traits of a template's code for a problem whose tensors no padding separates, at multiples of
// 16 bytes.
[[nodiscard]] CodeTraits code_traits(const KernelTemplate& kernel, const Problem& problem);

// NVRTC's option for an architecture: "sm_90", a device's own, or "compute_90", for later ones too.
[[nodiscard]] std::string architecture_option(const KernelTemplate& kernel,
                                              const std::string& architecture);
// NVRTC's options for one configuration: the macros and what every template is compiled with. That
// for the architecture is the first of them.
[[nodiscard]] std::vector<std::string> compile_options(const KernelTemplate& kernel,
                                                       const Configuration& configuration,
                                                       const CodeTraits& traits,
                                                       const std::string& architecture);

// Constraints that a device puts on a template's configurations: threads and shared memory of a
// block, compute capability. They share what they find out, so a list is for one thread at a time.
[[nodiscard]] std::vector<Constraint> device_constraints(const KernelTemplate& kernel,
                                                         const DeviceInfo& device);

}  // namespace autotune
