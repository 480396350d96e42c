#include "export/source/own_source.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/version.hpp"

namespace autotune {
namespace {

// The parameters of the function that launches: the tensors as addresses.
struct Arguments {
  std::vector<std::string> parameters;
  std::string constants;            // lines that define what is passed by value
  std::vector<std::string> places;  // the addresses of all arguments
};

Arguments arguments_of(const SourceRequest& request) {
  const Operation& operation = *request.kernel->operation;
  const std::vector<TensorDesc> tensors = operation.tensors(request.problem);
  const std::vector<std::int64_t> numbers = operation.numbers(request.problem);
  Arguments result;
  for (const KernelArgument& argument : request.kernel->signature(request.problem)) {
    const std::size_t index = argument.index;
    if (argument.kind == ArgumentKind::tensor) {
      const TensorDesc& tensor = tensors[index];
      result.parameters.push_back(
          fmt::format("{}void* {}", is_written(tensor.role) ? "" : "const ", tensor.name));
      result.places.push_back("&" + tensor.name);
    } else if (argument.kind == ArgumentKind::size) {
      result.constants += fmt::format("  long long number{} = {};\n", index, numbers[index]);
      result.places.push_back(fmt::format("&number{}", index));
    } else {
      result.constants += fmt::format("  {} scalar{} = {};\n", info(argument.type).cuda_name, index,
                                      operation.scalars[index]);
      result.places.push_back(fmt::format("&scalar{}", index));
    }
  }
  return result;
}

}  // namespace

SourceFile own_source(const SourceRequest& request) {
  const LaunchGeometry geometry = request.kernel->geometry(request.configuration, request.problem);
  const Arguments arguments = arguments_of(request);
  std::string macros;
  for (const std::string& option :
       compile_options(*request.kernel, request.configuration,
                       code_traits(*request.kernel, request.problem), request.architecture)) {
    if (!option.starts_with("-D")) continue;
    const std::size_t equals = option.find('=');
    macros +=
        fmt::format("#define {} {}\n", option.substr(2, equals - 2), option.substr(equals + 1));
  }
  const std::string name = source_name(request.problem);
  const std::string text = fmt::format(
      "{}{}: {} for {} ({}).\n// nvcc {} -c {}.cu\n#include <cuda_runtime.h>\n\n{}\n{}\n"
      "#line 1 \"{} by autotune\"\n"
      "// Enqueues one launch on a stream and returns the runtime's error.\n"
      "cudaError_t {}({}, cudaStream_t stream) {{\n{}"
      "  void* arguments[] = {{{}}};\n"
      "  cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});\n"
      "  return cudaLaunchKernel(reinterpret_cast<const void*>({}), dim3({}), dim3({}), arguments, "
      "{}, stream);\n}}\n",
      kSourceMark, kVersion, to_string(request.configuration), to_string(request.problem),
      request.origin, fmt::join(nvcc_options(request), " "), name, macros, request.kernel->source,
      name, name, fmt::join(arguments.parameters, ", "), arguments.constants,
      fmt::join(arguments.places, ", "), request.kernel->name, geometry.dynamic_shared_bytes,
      request.kernel->name, fmt::join(geometry.grid, ", "), fmt::join(geometry.block, ", "),
      geometry.dynamic_shared_bytes);
  return {name + ".cu", text};
}

}  // namespace autotune
