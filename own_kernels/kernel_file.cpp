#include "own_kernels/kernel_file.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "own_kernels/declaration.hpp"
#include "own_kernels/default_choice.hpp"
#include "own_kernels/host_code.hpp"
#include "own_kernels/kernel_reader.hpp"
#include "own_kernels/source_layout.hpp"
#include "own_kernels/t1_reader.hpp"

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
    if (!named->reference.empty() || named->host_reference) {
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

std::string text_of(const std::filesystem::path& path, const KernelFileOptions& options) {
  return options.text ? *options.text : read_source(path, kMaxKernelFileBytes);
}

// Files of data are beside the description.
void place_files(DescribedKernel& kernel, const std::filesystem::path& folder) {
  for (DescribedArgument& argument : kernel.arguments) {
    TensorContent& content = argument.content.content;
    for (std::string* const each : {&content.file, &content.expected, &content.results}) {
      if (!each->empty()) *each = std::filesystem::absolute(folder / *each).string();
    }
  }
}

// The place in the code of the one kernel that a description names.
std::size_t place_of(const T1Kernel& wanted, const SourceText& description,
                     const SourceText& source, const SourceLayout& layout) {
  std::vector<std::string> names;
  std::optional<KernelPlace> found;
  for (const KernelPlace& each : kernel_places(source, layout)) {
    names.push_back(each.name);
    if (each.name != wanted.name) continue;
    if (found) {
      source.refuse(each.offset,
                    fmt::format("{} is defined twice, so that it is not clear which of "
                                "them is described",
                                each.name));
    }
    found = each;
  }
  if (!found) {
    description.refuse(wanted.name_place,
                       fmt::format("{} has no kernel '{}'{}{}", source.name(), wanted.name,
                                   names.empty() ? ", and no other" : ": its kernels are ",
                                   fmt::join(names, ", ")));
  }
  return found->begin;
}

// The directives of a description stand behind the text of its .cu file, as comments, and so are
// part of what results are stored for.
KernelFile read_t1_file(const std::filesystem::path& path, const KernelFileOptions& options) {
  const SourceText description(path.filename().string(), text_of(path, options));
  check_text(description);
  const JsonValue json = parse_json(description);
  const T1Kernel named = t1_kernel(description, json);
  const std::filesystem::path code_path = path.parent_path() / named.file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(code_path, error)) {
    description.refuse(named.file_place,
                       fmt::format("the KernelFile {} is not there: it must be in "
                                   "the folder of {}",
                                   in_marks(named.file), description.name()));
  }
  const SourceText code(code_path.filename().string(),
                        read_source(code_path, kMaxKernelFileBytes) + '\n');
  check_text(code);
  SourceLayout layout = layout_of(code);
  const KernelDeclaration declaration =
      parse_declaration(code, layout, place_of(named, description, code, layout));
  const std::vector<std::string>& arguments =
      options.template_arguments.empty() ? named.template_arguments : options.template_arguments;
  T1Declaration declared{code, declaration, {}};
  for (std::size_t i = 0; i < std::min(arguments.size(), declaration.template_parameters.size());
       ++i) {
    declared.types[declaration.template_parameters[i].name] = arguments[i];
  }
  const T1Text directives = t1_directives(description, json, declared);
  std::vector<TextOrigin> parts = directives.parts();
  for (TextOrigin& part : parts) part.begin += code.text().size();
  const auto source = std::make_shared<const SourceText>(
      code.name(), code.text() + directives.text(), description, std::move(parts));
  PragmaBlock block{.lines = {}, .code = declaration.offset, .division = Division::python};
  for (std::size_t begin = code.text().size(); begin < source->text().size();) {
    const std::size_t end = source->text().find('\n', begin);
    block.lines.push_back({begin, begin + std::string_view("#pragma kernel").size(), end});
    begin = end + 1;
  }
  DescribedKernel kernel = read_kernel(source, block, declaration, arguments);
  choose_defaults(kernel);
  place_files(kernel, path.parent_path());
  layout.blocks.push_back(std::move(block));
  kernel.code = code_of(*source, layout,
                        expanded_includes(code, layout, code_path.parent_path(),
                                          options.include_folders, kMaxKernelFileBytes),
                        kernel, declaration);
  KernelFile file{.name = description.name(), .kernels = {}};
  file.kernels.push_back(std::move(kernel));
  return file;
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
  if (path.extension() == ".json") return read_t1_file(path, options);
  const auto source =
      std::make_shared<const SourceText>(path.filename().string(), text_of(path, options));
  check_text(*source);
  const SourceLayout layout = layout_of(*source);
  const std::vector<TextEdit> includes = expanded_includes(
      *source, layout, path.parent_path(), options.include_folders, kMaxKernelFileBytes);
  KernelFile file{.name = source->name(), .kernels = {}};
  for (const PragmaBlock& block : layout.blocks) {
    const KernelDeclaration declaration = parse_declaration(*source, layout, block.code);
    DescribedKernel kernel = read_kernel(source, block, declaration, options.template_arguments);
    if (!options.template_arguments.empty() && kernel.key == kernel.name) {
      kernel.key = identifier_of(
          fmt::format("{}_{}", kernel.name, fmt::join(options.template_arguments, "_")));
    }
    place_files(kernel, path.parent_path());
    kernel.code = code_of(*source, layout, includes, kernel, declaration);
    if (kernel.host_reference) {
      kernel.host_reference->code = host_code(*source, includes, kernel, declaration);
    }
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
