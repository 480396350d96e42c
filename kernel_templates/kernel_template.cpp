#include "kernel_templates/kernel_template.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace autotune {
namespace {

const std::vector<std::int64_t>& values_of(const KernelTemplate& kernel, std::string_view name) {
  const std::vector<TuningParameter>& all = kernel.space.parameters();
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; })
      ->values;
}

// Returns whether only the launch depends on a parameter.
bool is_of_the_launch(const KernelTemplate& kernel, const TuningParameter& parameter) {
  return std::any_of(kernel.launch_parameters.begin(), kernel.launch_parameters.end(),
                     [&](const auto& one) {
                       return one.name == parameter.name &&
                              std::all_of(parameter.values.begin(), parameter.values.end(),
                                          [&](std::int64_t value) { return value >= one.least; });
                     });
}

// The most that launches of a configuration need, over the problems at which they need most. The
// rules of a list ask about one configuration in turn, so the last answer is kept. For one thread.
class DemandOfLaunches {
 public:
  struct Demand {
    std::int64_t threads = 0;               // of a block
    std::int64_t dynamic_shared_bytes = 0;  // likewise
    std::int64_t workspace_bytes = 0;
  };

  explicit DemandOfLaunches(const KernelTemplate& kernel) : kernel_(kernel) {}

  const Demand& of(const Configuration& configuration) {
    if (asked_ == configuration) return demand_;
    asked_ = configuration;
    demand_ = {};
    for (const Problem& problem : kernel_.limiting_problems) {
      const LaunchGeometry geometry = kernel_.geometry(configuration, problem);
      const auto raise = [](std::int64_t& most, std::int64_t value) {
        most = std::max(most, value);
      };
      raise(demand_.threads, geometry.threads());
      raise(demand_.dynamic_shared_bytes, geometry.dynamic_shared_bytes);
      raise(demand_.workspace_bytes, geometry.workspace_bytes());
    }
    return demand_;
  }

 private:
  const KernelTemplate& kernel_;
  std::optional<Configuration> asked_;
  Demand demand_;
};

}  // namespace

bool computes(const KernelTemplate& kernel, const Problem& problem) {
  return kernel.operation->name == problem.operation() && kernel.supports(problem);
}

std::vector<std::string> code_macros(const KernelTemplate& kernel, const Problem& problem) {
  std::vector<std::string> result = kernel.operation->code_macros(problem);
  if (kernel.macros) {
    for (std::string& own : kernel.macros(problem)) result.push_back(std::move(own));
  }
  return result;
}

CodeTraits unpadded_traits(const Operation& operation, const Problem& problem) {
  constexpr std::int64_t kVectorBytes = 16;
  const std::vector<TensorDesc> tensors = operation.tensors(problem);
  const bool aligned = std::all_of(tensors.begin(), tensors.end(), [](const TensorDesc& tensor) {
    const std::int64_t steps =
        tensor.row_stride | (tensor.matrices == 1 ? 0 : tensor.matrix_stride);
    return steps * size_bytes(tensor.type) % kVectorBytes == 0;
  });
  return {operation.code_macros(problem), aligned};
}

TiledLaunch tiled_launch(const KernelTemplate& kernel, const Configuration& configuration,
                         const Problem& problem, int sm_count) {
  TiledLaunch launch{.tile = kernel.tile_shape ? kernel.tile_shape(configuration) : TileShape(),
                     .geometry = kernel.geometry(configuration, problem).on_device(sm_count),
                     .copying_threads = kernel.copying_threads};
  launch.shared_bytes = kernel.shared_bytes(configuration) + launch.geometry.dynamic_shared_bytes;
  return launch;
}

double predicted_cycles(const KernelTemplate& kernel, const Configuration& configuration,
                        const Problem& problem, const SmLimits& sm, int sm_count) {
  return kernel.cost_model(configuration, tiled_launch(kernel, configuration, problem, sm_count),
                           problem, sm, sm_count);
}

bool runs_on(const KernelTemplate& kernel, int capability) {
  return kernel.min_compute_capability <= capability && capability < kernel.end_compute_capability;
}

int needed_capability(const KernelTemplate& kernel, const Configuration& configuration) {
  if (!kernel.configuration_capability) return kernel.min_compute_capability;
  return std::max(kernel.min_compute_capability, kernel.configuration_capability(configuration));
}

Configuration compiled_as(const KernelTemplate& kernel, Configuration configuration) {
  for (const auto& [name, least] : kernel.launch_parameters) {
    configuration.set(name, std::min(configuration.at(name), least));
  }
  return configuration;
}

std::vector<Configuration> with_the_code_of(const KernelTemplate& kernel,
                                            const Configuration& configuration) {
  std::vector<Configuration> result = {configuration};
  for (const auto& [name, least] : kernel.launch_parameters) {
    const std::int64_t own = configuration.at(name);
    if (own < least) continue;
    const std::vector<Configuration> so_far = result;
    for (const std::int64_t value : values_of(kernel, name)) {
      if (value < least || value == own) continue;
      for (Configuration one : so_far) {
        one.set(name, value);
        result.push_back(std::move(one));
      }
    }
  }
  return result;
}

CodeTraits compiled_for(const KernelTemplate& kernel, CodeTraits traits) {
  traits.aligned = traits.aligned && kernel.knows_alignment;
  return traits;
}

CodeTraits code_traits(const KernelTemplate& kernel, const Problem& problem) {
  const bool aligned = unpadded_traits(*kernel.operation, problem).aligned;
  return compiled_for(kernel, {code_macros(kernel, problem), aligned});
}

std::string architecture_option(const KernelTemplate& kernel, const std::string& architecture) {
  const bool own = kernel.architecture_specific && architecture.starts_with("sm_");
  return "-arch=" + architecture + (own ? "a" : "");
}

std::vector<std::string> compile_options(const KernelTemplate& kernel,
                                         const Configuration& configuration,
                                         const CodeTraits& traits,
                                         const std::string& architecture) {
  std::vector<std::string> options = {architecture_option(kernel, architecture)};
  // -v changes the cubin's bytes, so it is always on; its log is the only source of spill counts.
  options.emplace_back("-Xptxas=-v");
  if (kernel.options) {
    for (std::string& option : kernel.options(configuration)) options.push_back(std::move(option));
  }
  options.emplace_back("--no-source-include");
  const Configuration compiled = compiled_as(kernel, configuration);
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    if (is_of_the_launch(kernel, parameter)) continue;
    const std::string& macro = parameter.macro.empty() ? parameter.name : parameter.macro;
    options.push_back("-D" + macro + "=" + std::to_string(compiled.at(parameter.name)));
  }
  for (const std::string& macro : traits.macros) options.push_back("-D" + macro);
  // Kernels of a user's own may have the name for something else.
  if (!kernel.operation->named_sizes) {
    options.emplace_back(compiled_for(kernel, traits).aligned ? "-DALIGNED=1" : "-DALIGNED=0");
  }
  return options;
}

std::vector<Constraint> device_constraints(const KernelTemplate& kernel, const DeviceInfo& device) {
  const auto demand = std::make_shared<DemandOfLaunches>(kernel);
  return {
      {"device_compute_capability", "the device must have the compute capability that it needs",
       [&kernel, cpu = device.is_cpu(),
        capability = 10 * device.compute_major + device.compute_minor](const Configuration& c) {
         return cpu || (runs_on(kernel, capability) && capability >= needed_capability(kernel, c));
       }},
      {"device_threads_per_block", "a block may not have more threads than the device allows",
       [demand, limit = device.sm.threads_per_block](const Configuration& c) {
         return demand->of(c).threads <= limit;
       }},
      {"device_shared_per_block", "a block may not need more shared memory than the device allows",
       [&kernel, demand, limit = device.shared_per_block,
        optin = device.sm.shared_per_block](const Configuration& c) {
         const std::int64_t fixed = kernel.shared_bytes(c);
         return fixed <= limit && fixed + demand->of(c).dynamic_shared_bytes <= optin;
       }},
      {"device_scratch", "on the CPU device no blocks may wait for each other's results",
       [demand, cpu = device.is_cpu()](const Configuration& c) {
         return !cpu || demand->of(c).workspace_bytes == 0;
       }},
      {"device_tensor_maps", "the CPU device has no unit that copies by tensor maps",
       [&kernel, cpu = device.is_cpu()](const Configuration&) {
         return !cpu || !kernel.takes_tensor_maps;
       }},
  };
}

}  // namespace autotune
