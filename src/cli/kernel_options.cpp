#include "cli/kernel_options.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/options/option_values.hpp"

namespace autotune {
namespace {

// The values of an option on the command line, given as "--name VALUE" or "--name=VALUE".
std::vector<std::string> values_of(const std::vector<std::string>& arguments,
                                   std::string_view name) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == name && i + 1 < arguments.size()) {
      values.push_back(arguments[++i]);
    } else if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
      values.push_back(argument.substr(name.size() + 1));
    }
  }
  return values;
}

struct KernelName {
  std::string file;
  std::string kernel;
  std::vector<std::string> template_arguments;
};

// A file may have a ':' in its name.
KernelName parse_name(const std::string& text) {
  KernelName result{.file = text, .kernel = {}, .template_arguments = {}};
  std::error_code error;
  const std::size_t colon = text.rfind(".cu:");
  if (colon == std::string::npos || std::filesystem::exists(text, error)) return result;
  result.file = text.substr(0, colon + 3);
  result.kernel = text.substr(colon + 4);
  const std::size_t open = result.kernel.find('<');
  if (open == std::string::npos) return result;
  if (!result.kernel.ends_with('>')) {
    throw UsageError(fmt::format("--kernel: {} must end with '>', e.g. --kernel add.cu:add<float>",
                                 in_quotes(text)));
  }
  const std::string list = result.kernel.substr(open + 1, result.kernel.size() - open - 2);
  result.kernel.resize(open);
  result.template_arguments = items_of(list);
  return result;
}

}  // namespace

std::optional<OwnKernels> named_kernel(const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = values_of(arguments, "--kernel");
  if (names.empty() || names.front().empty()) return std::nullopt;
  const KernelName name = parse_name(names.front());
  KernelFileOptions options{.include_folders = {}, .template_arguments = name.template_arguments};
  for (const std::string& folder : values_of(arguments, "--include-folder")) {
    options.include_folders.emplace_back(folder);
  }
  const KernelFile file = read_kernel_file(name.file, options);
  return OwnKernels(file, file.kernel(name.kernel));
}

bool have_named_sizes(const KernelSet& kernels) {
  return kernels.templates().front().operation->named_sizes.has_value();
}

Problem parse_named_sizes(const std::string& text, const KernelSet& kernels) {
  const Operation& operation = *kernels.templates().front().operation;
  if (!operation.named_sizes) {
    throw UsageError(
        "sizes of products are given by --sizes, e.g. --sizes 1024, and a kernel of your own by "
        "--kernel FILE");
  }
  std::vector<Problem::Size> sizes;
  for (const std::string& item : items_of(text)) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos && !sizes.empty() && parse_whole_number(item)) {
      throw UsageError(fmt::format(
          "{0} has no name: repeat --size for several problems, e.g. --size {1}={2} --size {1}={0}",
          item, sizes.back().name, sizes.back().value));
    }
    const auto value =
        equals == std::string::npos ? std::nullopt : parse_whole_number(item.substr(equals + 1));
    if (!value) {
      throw UsageError(
          fmt::format("{} must be NAME=N with a whole number from 1 to 2147483647; repeat --size "
                      "for several problems",
                      in_quotes(item)));
    }
    sizes.push_back({item.substr(0, equals), *value});
  }
  return problem_of(operation, sizes);
}

void require_sizes(CLI::App& command, Options& options) {
  const Operation& operation = *options.kernels().templates().front().operation;
  if (operation.named_sizes && operation.named_sizes->empty()) {
    options.sizes = {problem_of(operation, {})};
    return;
  }
  command.get_option(operation.named_sizes ? "--size" : "--sizes")->required();
}

}  // namespace autotune
