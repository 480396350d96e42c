#include "own_kernels/described_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "own_kernels/described_launch.hpp"
#include "own_kernels/host_code.hpp"

namespace autotune {
namespace {

using Values = DescribedValues;

// A rule that only looks at parameters.
Constraint constraint_of(const DescribedKernel& kernel, const Expression& holds) {
  std::vector<std::pair<std::size_t, std::string>> used;
  std::vector<std::string> names;
  for (const std::size_t variable : holds.variables()) {
    used.emplace_back(variable, kernel.parameters[variable - kernel.sizes.size()].name);
    names.push_back(used.back().second);
  }
  const std::size_t count = kernel.sizes.size() + kernel.parameters.size();
  return {holds.source(), holds.source(),
          [&holds, used, count](const Configuration& c) {
            Values values(count, 1);
            for (const auto& [slot, name] : used) values[slot] = c.at(name);
            return holds.truth(values);
          },
          names};
}

ConfigSpace space_of(const DescribedKernel& kernel) {
  std::vector<Constraint> constraints;
  for (const DescribedRestriction& each : kernel.restrictions) {
    if (!each.has_sizes) constraints.push_back(constraint_of(kernel, each.holds));
  }
  return {kernel.parameters, std::move(constraints)};
}

KernelSignature signature_of(const DescribedKernel& kernel) {
  KernelSignature signature;
  std::array<std::uint8_t, 3> next = {};
  for (const DescribedArgument& each : kernel.arguments) {
    using enum DescribedArgument::Kind;
    const ArgumentKind kind = each.kind == buffer   ? ArgumentKind::tensor
                              : each.kind == number ? ArgumentKind::size
                                                    : ArgumentKind::scalar;
    signature.push_back({kind, next[static_cast<std::size_t>(each.kind)]++, each.type});
  }
  return signature;
}

// They depend on no size: a kernel is compiled and tuned with the values of its file.
std::vector<double> scalars_of(const DescribedKernel& kernel) {
  const Values values = values_of(kernel, nullptr, nullptr);
  std::vector<double> scalars;
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind == DescribedArgument::Kind::scalar) {
      scalars.push_back(each.value->number(values));
    }
  }
  return scalars;
}

// The difference of the sizes as numbers of doublings.
double distance(const Problem& a, const Problem& b) {
  double sum = 0;
  for (const Problem::Size& size : a.sizes()) {
    sum += std::abs(
        std::log2(static_cast<double>(size.value) / static_cast<double>(b.size(size.name))));
  }
  return sum;
}

// "n=1024 m=64"; of a kernel without sizes its name.
std::string text_of(const Problem& problem) {
  if (problem.sizes().empty()) return problem.operation();
  std::vector<std::string> sizes;
  for (const auto& [name, value] : problem.sizes())
    sizes.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(sizes, " "));
}

Work work_of(const DescribedKernel& kernel, const Problem& problem) {
  const Values values = values_of(kernel, &problem, nullptr);
  Work work;
  if (kernel.operations) work.operations = kernel.operations->number(values);
  if (kernel.bytes) {
    work.bytes = kernel.bytes->number(values);
  } else {
    for (const TensorDesc& tensor : tensors_of(kernel, problem)) {
      work.bytes += tensor.volume() * (tensor.role == TensorRole::inout ? 2 : 1);
    }
  }
  return work;
}

bool depends_on_parameters(const DescribedKernel& kernel, const Expression& expression) {
  return std::ranges::any_of(expression.variables(),
                             [&](std::size_t variable) { return variable >= kernel.sizes.size(); });
}

// The macros of a kind as NAME=VALUE: those that depend on parameters, or the others.
std::vector<std::string> macros_of(const DescribedKernel& kernel, const Values& values,
                                   bool of_parameters) {
  std::vector<std::string> macros;
  for (const auto& [name, value] : kernel.macros) {
    if (depends_on_parameters(kernel, value) == of_parameters) {
      macros.push_back(name + "=" + value.text(values));
    }
  }
  return macros;
}

std::vector<std::string> options_of(const DescribedKernel& kernel,
                                    const Configuration& configuration) {
  const Values values = values_of(kernel, nullptr, &configuration);
  // Functions that say nothing else are the kernel's, as they are for nvcc where a host calls none.
  std::vector<std::string> options = {"--device-as-default-execution-space"};
  for (const std::string& macro : macros_of(kernel, values, true)) options.push_back("-D" + macro);
  for (const DescribedOption& each : kernel.compiler_options) {
    if (each.condition && !each.condition->truth(values)) continue;
    options.push_back(each.value ? each.text + each.value->text(values) : each.text);
  }
  return options;
}

KernelTemplate template_of(const DescribedKernel& kernel, const Operation& operation) {
  std::vector<std::string> arguments;
  for (const DescribedArgument& each : kernel.arguments) arguments.push_back(each.name);
  std::vector<Problem::Size> ones;  // where only the configuration counts
  for (const std::string& size : kernel.sizes) ones.push_back({size, 1});
  return {
      .name = kernel.key,
      .space_version = 1,
      .operation = &operation,
      .source = kernel.code,
      .space = space_of(kernel),
      .signature = [&kernel](const Problem&) { return signature_of(kernel); },
      .supports = [](const Problem&) { return true; },
      .default_configuration = [&kernel](const Problem&) { return default_of(kernel); },
      .geometry =
          [&kernel](const Configuration& configuration, const Problem& problem) {
            return geometry_of(kernel, configuration, problem);
          },
      .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
      .limiting_problems = {Problem(operation.name, ones, {})},
      .argument_names = std::move(arguments),
      .options = [&kernel](const Configuration& c) { return options_of(kernel, c); },
      .fits = [&kernel](const Configuration& configuration,
                        const Problem& problem) { return fits(kernel, configuration, problem); },
      .may_spill = true};
}

// The reference is launched with its own default configuration.
LaunchedReference reference_of(const DescribedKernel& kernel, const KernelTemplate& as_template,
                               const Problem& problem) {
  const Configuration configuration = default_of(kernel);
  LaunchedReference reference{.name = kernel.key, .source = kernel.code};
  for (const TuningParameter& each : kernel.parameters) {
    const std::string& macro = each.macro.empty() ? each.name : each.macro;
    reference.options.push_back(fmt::format("-D{}={}", macro, configuration.at(each.name)));
  }
  for (const std::string& macro : code_macros(as_template, problem)) {
    reference.options.push_back("-D" + macro);
  }
  for (std::string& option : options_of(kernel, configuration)) {
    reference.options.push_back(std::move(option));
  }
  reference.signature = signature_of(kernel);
  reference.geometry = geometry_of(kernel, configuration, problem);
  if (kernel.host_reference) {
    reference.name = kHostReference;
    reference.source = kernel.host_reference->code;
    reference.geometry = {};
    reference.host_function = kernel.host_reference->name;
  }
  return reference;
}

}  // namespace

struct OwnKernels::Data {
  DescribedKernel kernel;
  std::optional<DescribedKernel> reference;  // another kernel; empty: the kernel's own default
  Operation operation;
};

namespace {

// Returns whether the values of some output are neither in a file nor free.
bool needs_reference(const DescribedKernel& kernel) {
  return std::ranges::any_of(kernel.arguments, [](const DescribedArgument& each) {
    const TensorContent& content = each.content.content;
    return each.kind == DescribedArgument::Kind::buffer && is_written(each.role) &&
           content.is_checked() && content.expected.empty();
  });
}

// A kernel that is the reference of another has the same sizes and buffers.
void check_reference(const DescribedKernel& kernel, const DescribedKernel& reference) {
  const auto buffers = [](const DescribedKernel& of) {
    std::vector<std::pair<std::string, ElementType>> result;
    for (const DescribedArgument& each : of.arguments) {
      if (each.kind == DescribedArgument::Kind::buffer) result.emplace_back(each.name, each.type);
    }
    return result;
  };
  if (kernel.sizes == reference.sizes && buffers(kernel) == buffers(reference)) return;
  reference.source->refuse(
      reference.offset,
      fmt::format(
          "{} must have the sizes and buffers of {}, in the same order, to be its reference",
          reference.key, kernel.key));
}

// Throws UsageError where the default is not a configuration of the space.
void check_default(const DescribedKernel& kernel, const ConfigSpace& space) {
  try {
    static_cast<void>(space.validated(default_of(kernel)));
  } catch (const UsageError& error) {
    kernel.source->refuse(kernel.offset,
                          fmt::format("the default configuration of {} is not valid: {}: give "
                                      "defaults, e.g. `tune(TILE = 8, 16) default(16)`",
                                      kernel.key, error.what()));
  }
}

}  // namespace

OwnKernels::OwnKernels(const KernelFile& file, const DescribedKernel& kernel) {
  const auto data = std::make_shared<Data>();
  data->kernel = kernel;
  if (!kernel.reference.empty()) {
    data->reference = file.kernel(kernel.reference);
    check_reference(kernel, *data->reference);
  }
  const DescribedKernel& own = data->kernel;
  Operation& operation = data->operation;
  operation = {
      .name = own.key,
      .tensors = [&own](const Problem& problem) { return tensors_of(own, problem); },
      .work = [&own](const Problem& problem) { return work_of(own, problem); },
      .distance = distance,
      .text = text_of,
      .scalars = scalars_of(own),
      .numbers = [&own](const Problem& problem) { return numbers_of(own, problem); },
      .code_macros =
          [&own](const Problem& problem) {
            return macros_of(own, values_of(own, &problem, nullptr), false);
          },
      .contents = [&own](const Problem& problem) { return contents_of(own, problem); },
      .named_sizes = own.sizes,
      .check = [&own](const Problem& problem) { check_problem(own, problem); },
  };
  const auto make_template = [&operation](const DescribedKernel& described) {
    return std::make_shared<const KernelTemplate>(template_of(described, operation));
  };
  const auto reference = make_template(data->reference ? *data->reference : own);
  if (needs_reference(own)) {
    operation.launched_reference =
        [reference, &described = data->reference ? *data->reference : own](const Problem& problem) {
          return reference_of(described, *reference, problem);
        };
  }
  std::vector<KernelTemplate> templates;
  templates.push_back(template_of(own, operation));
  check_default(own, templates.front().space);
  set_ = std::make_shared<const KernelSet>(std::move(templates));
  data_ = data;
}

const DescribedKernel& OwnKernels::described() const {
  return data_->kernel;
}

}  // namespace autotune
