#include "kernel_templates/kernel_template.hpp"

#include <algorithm>

namespace autotune {
namespace {

const std::vector<std::int64_t>& values_of(const KernelTemplate& kernel, std::string_view name) {
  const std::vector<TuningParameter>& all = kernel.space.parameters();
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; })
      ->values;
}

// Whether the code knows nothing of a parameter.
bool is_of_the_launch(const KernelTemplate& kernel, const TuningParameter& parameter) {
  return std::any_of(kernel.launch_parameters.begin(), kernel.launch_parameters.end(),
                     [&](const auto& one) {
                       return one.name == parameter.name &&
                              std::all_of(parameter.values.begin(), parameter.values.end(),
                                          [&](std::int64_t value) { return value >= one.least; });
                     });
}

}  // namespace

const KernelTemplate* find_kernel_template(std::string_view name) {
  for (const KernelTemplate& kernel : kernel_templates()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::vector<const KernelTemplate*> templates_for(const DeviceInfo& device) {
  constexpr int kAnyGpu = 50;
  const int capability =
      device.is_cpu() ? kAnyGpu : 10 * device.compute_major + device.compute_minor;
  std::vector<const KernelTemplate*> result;
  for (const KernelTemplate& kernel : kernel_templates()) {
    if (runs_on(kernel, capability)) result.push_back(&kernel);
  }
  return result;
}

OperandTraits unpadded_traits(const GemmProblem& problem) {
  const bool aligned = problem.lda() % 4 == 0 && problem.ldb() % 4 == 0 && problem.ldc() % 4 == 0;
  return {problem.op_a, problem.op_b, aligned};
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

OperandTraits compiled_for(const KernelTemplate& kernel, OperandTraits operands) {
  operands.aligned = operands.aligned && kernel.knows_alignment;
  return operands;
}

std::string architecture_option(const KernelTemplate& kernel, const std::string& architecture) {
  const bool own = kernel.architecture_specific && architecture.starts_with("sm_");
  return "-arch=" + architecture + (own ? "a" : "");
}

std::vector<std::string> compile_options(const KernelTemplate& kernel,
                                         const Configuration& configuration,
                                         const OperandTraits& operands,
                                         const std::string& architecture) {
  std::vector<std::string> options = {architecture_option(kernel, architecture)};
  // -v changes the cubin's bytes, so it is always on; its log is the only source of spill counts.
  options.emplace_back("-Xptxas=-v");
  if (kernel.ptxas_options) {
    for (const std::string& option : kernel.ptxas_options(configuration)) {
      options.push_back("-Xptxas=" + option);
    }
  }
  options.emplace_back("--no-source-include");
  const Configuration compiled = compiled_as(kernel, configuration);
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    if (is_of_the_launch(kernel, parameter)) continue;
    options.push_back("-D" + parameter.name + "=" + std::to_string(compiled.at(parameter.name)));
  }
  const auto set = [&](const char* macro, bool value) {
    options.push_back(std::string("-D") + macro + (value ? "=1" : "=0"));
  };
  set("TRANSPOSE_A", operands.op_a == Operation::transposed);
  set("TRANSPOSE_B", operands.op_b == Operation::transposed);
  set("ALIGNED", compiled_for(kernel, operands).aligned);
  return options;
}

std::vector<Constraint> device_constraints(const KernelTemplate& kernel, const DeviceInfo& device) {
  const GemmProblem smallest{.m = 1, .n = 1, .k = 1};
  GemmProblem along_k = smallest;  // both operands
  along_k.op_b = Operation::transposed;
  return {
      {"device_compute_capability", "the device must have the compute capability that it needs",
       [&kernel, host = device.is_cpu(),
        capability = 10 * device.compute_major + device.compute_minor](const Configuration& c) {
         return host || (runs_on(kernel, capability) && capability >= needed_capability(kernel, c));
       }},
      {"device_threads_per_block", "a block may not have more threads than the device allows",
       [&kernel, smallest, limit = device.max_threads_per_block](const Configuration& c) {
         return kernel.geometry(c, smallest).threads() <= limit;
       }},
      {"device_shared_per_block", "a block may not need more shared memory than the device allows",
       [&kernel, smallest, along_k, limit = device.shared_per_block,
        optin = device.shared_per_block_optin](const Configuration& c) {
         const std::int64_t fixed = kernel.shared_bytes(c);
         const std::int64_t dynamic = std::max(kernel.geometry(c, smallest).dynamic_shared_bytes,
                                               kernel.geometry(c, along_k).dynamic_shared_bytes);
         return fixed <= limit && fixed + dynamic <= optin;
       }},
      {"device_scratch", "on the host device no blocks may wait for each other's results",
       [&kernel, host = device.is_cpu()](const Configuration& c) {
         const GemmProblem deep{.m = 1, .n = 1, .k = 1 << 20};
         return !host || kernel.geometry(c, deep).workspace_bytes_per_block == 0;
       }},
      {"device_tensor_maps", "the host device has no unit that copies by tensor maps",
       [&kernel, host = device.is_cpu()](const Configuration&) {
         return !host || !kernel.takes_tensor_maps;
       }},
  };
}

}  // namespace autotune
