#include "own_kernels/kernel_file.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "own_kernels/declaration.hpp"
#include "own_kernels/kernel_reader.hpp"
#include "own_kernels/source_layout.hpp"

namespace autotune {
namespace {

// A kernel becomes a C symbol of its key's name. That of a template becomes a device function,
// which a kernel with the symbol calls with the template's arguments.
std::string code_of(const SourceText& source, const SourceLayout& layout,
                    std::vector<TextEdit> edits, const DescribedKernel& kernel,
                    const KernelDeclaration& declaration) {
  for (const PragmaBlock& block : layout.blocks) {
    // As comments they stay part of the text, and so of its hash.
    for (const PragmaLine& line : block.lines)
      edits.push_back({{line.begin, line.begin + 1}, "//"});
  }
  const auto put = [&](std::size_t begin, std::size_t length, std::string text) {
    edits.push_back({{begin, begin + length}, std::move(text)});
  };
  std::string behind;
  if (declaration.template_parameters.empty()) {
    if (!declaration.is_extern_c) put(declaration.global, 0, "extern \"C\" ");
    put(declaration.offset, declaration.name.size(), kernel.key);
  } else {
    put(declaration.global, std::string_view("__global__").size(), "__device__ __forceinline__");
    std::vector<std::string> values, names;
    for (const TemplateParameter& each : declaration.template_parameters) {
      values.push_back(kernel.template_values.at(each.name));
    }
    for (const DeclaredArgument& each : declaration.arguments) names.push_back(each.name);
    std::string called;
    for (const std::string& each : declaration.namespaces) called += each + "::";
    called += declaration.name;
    if (kernel.key == declaration.name) {  // two functions of one name have no one address
      called += "_template";
      put(declaration.offset + declaration.name.size(), 0, "_template");
    }
    behind = fmt::format(
        "\n#line 1 \"{0} of autotune\"\nextern \"C\" __global__ {1} void {0}({2}) "
        "{{\n  {3}<{4}>({5});\n}}\n",
        kernel.key, replaced(declaration.launch_bounds, kernel.template_values),
        replaced(declaration.argument_list, kernel.template_values), called,
        fmt::join(values, ", "), fmt::join(names, ", "));
    if (!declaration.launch_bounds.empty()) {
      const Token& first = declaration.launch_bounds.front();
      const Token& last = declaration.launch_bounds.back();
      put(first.offset, last.offset + last.text.size() - first.offset, "");
    }
  }
  return fmt::format("#line 1 \"{}\"\n{}{}", source.name(), edited(source.text(), std::move(edits)),
                     behind);
}

void check_references(const KernelFile& file, const SourceText& source) {
  for (const DescribedKernel& kernel : file.kernels) {
    if (kernel.reference.empty()) continue;
    const auto named = std::ranges::find_if(
        file.kernels, [&](const DescribedKernel& each) { return each.name == kernel.reference; });
    if (named == file.kernels.end() || &*named == &kernel) {
      source.refuse(kernel.offset,
                    fmt::format("the reference '{}' of {} must be another described kernel of the "
                                "file",
                                kernel.reference, kernel.name));
    }
    if (!named->reference.empty()) {
      source.refuse(named->offset,
                    fmt::format("{} is a reference and cannot have one", named->name));
    }
  }
}

void check_text(const SourceText& source) {
  const std::string& text = source.text();
  if (text.empty()) source.refuse(0, "the file is empty: it must have a kernel");
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t bytes = first < 0x80   ? 1
                              : first < 0xc2 ? 0
                              : first < 0xe0 ? 2
                              : first < 0xf0 ? 3
                              : first < 0xf5 ? 4
                                             : 0;
    bool is_right = bytes > 0 && first != 0 && i + bytes <= text.size();
    for (std::size_t j = 1; is_right && j < bytes; ++j) {
      is_right = (static_cast<unsigned char>(text[i + j]) & 0xc0U) == 0x80U;
    }
    if (!is_right) source.refuse(i, "this byte is not UTF-8: a file of kernels is text");
    i += bytes;
  }
}

}  // namespace

const DescribedKernel& KernelFile::kernel(const std::string& wanted) const {
  std::set<std::string> references;
  std::vector<std::string> names;
  std::vector<const DescribedKernel*> found;
  for (const DescribedKernel& each : kernels) references.insert(each.reference);
  for (const DescribedKernel& each : kernels) {
    names.push_back(each.name);
    const bool is_own = wanted.empty() ? !references.contains(each.name) : each.name == wanted;
    if (is_own) found.push_back(&each);
  }
  if (found.size() == 1) return *found.front();
  throw UsageError(fmt::format("{}: {}: name one of them, e.g. --kernel {}:{}", name,
                               wanted.empty() ? fmt::format("it describes {} kernels", names.size())
                                              : fmt::format("it describes no kernel '{}'", wanted),
                               name, fmt::join(names, " or :")));
}

KernelFile read_kernel_file(const std::filesystem::path& path, const KernelFileOptions& options) {
  const auto source = std::make_shared<const SourceText>(
      path.filename().string(),
      options.text ? *options.text : read_source(path, kMaxKernelFileBytes));
  check_text(*source);
  const SourceLayout layout = layout_of(*source);
  const std::vector<TextEdit> includes = expanded_includes(
      *source, layout, path.parent_path(), options.include_folders, kMaxKernelFileBytes);
  KernelFile file{.name = source->name(), .kernels = {}};
  for (const PragmaBlock& block : layout.blocks) {
    const KernelDeclaration declaration = parse_declaration(*source, layout, block.code);
    DescribedKernel kernel = read_kernel(source, block, declaration, options.template_arguments);
    for (DescribedArgument& argument : kernel.arguments) {
      for (std::string* const each :
           {&argument.content.content.file, &argument.content.content.expected,
            &argument.content.content.results}) {
        if (!each->empty()) *each = std::filesystem::absolute(path.parent_path() / *each).string();
      }
    }
    kernel.code = code_of(*source, layout, includes, kernel, declaration);
    for (const DescribedKernel& other : file.kernels) {
      if (other.name == kernel.name || other.key == kernel.key) {
        source->refuse(kernel.offset,
                       fmt::format("two kernels of the file are named {}", kernel.key));
      }
    }
    file.kernels.push_back(std::move(kernel));
  }
  if (file.kernels.empty()) {
    throw UsageError(fmt::format(
        "{}: no kernel is described: put pragmas before one, e.g. `#pragma kernel tune(TILE = 16, "
        "32) block_size(TILE) problem_size(n) buffers(x[n])`",
        source->name()));
  }
  check_references(file, *source);
  return file;
}

}  // namespace autotune
