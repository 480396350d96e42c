// The declaration of a kernel in CUDA C++: its name, template parameters and arguments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/element_type.hpp"
#include "own_kernels/source_layout.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

struct TemplateParameter {
  std::string name;
  bool is_type = false;
  std::string value;  // its default as text; empty: none
  std::size_t offset = 0;
};

struct DeclaredArgument {
  std::string name;
  std::size_t offset = 0;
  std::vector<Token> type;  // the tokens before the name, qualifiers included
  bool is_pointer = false;
};

struct KernelDeclaration {
  std::string name;
  std::size_t offset = 0;  // of the name
  std::size_t global = 0;  // of `__global__`
  bool is_extern_c = false;
  std::vector<std::string> namespaces;
  std::vector<TemplateParameter> template_parameters;
  std::vector<Token> launch_bounds;  // `__launch_bounds__(...)`, if there is one
  std::vector<DeclaredArgument> arguments;
  std::vector<Token> argument_list;  // between the parentheses
};

// Parses `[template <...>] [extern "C"] __global__ void NAME(...)` at a place of the code. Throws
// UsageError where something else stands there.
[[nodiscard]] KernelDeclaration parse_declaration(const SourceText& source,
                                                  const SourceLayout& layout, std::size_t place);

// The places of the code where the definitions of kernels begin, with the kernels' names.
struct KernelPlace {
  std::string name;
  std::size_t begin = 0;   // where parse_declaration() begins
  std::size_t offset = 0;  // of the name
};
[[nodiscard]] std::vector<KernelPlace> kernel_places(const SourceText& source,
                                                     const SourceLayout& layout);

// The namespaces that are open at a place, the outermost first.
[[nodiscard]] std::vector<std::string> namespaces_at(const SourceText& source,
                                                     const SourceLayout& layout, std::size_t place);

// What a declared type says about the argument. `types` has the types that template parameters
// stand for.
struct ArgumentType {
  ElementType type = ElementType::f32;
  std::int64_t width = 1;  // elements: 4 of float4
  bool is_const = false;   // what a pointer points to
  bool is_whole = false;   // a whole number that is passed by value
  bool is_wide = false;    // one of 64 bits
  bool is_unsigned = false;
};
using TypeNames = std::map<std::string, std::string>;
[[nodiscard]] ArgumentType type_of(const SourceText& source, const DeclaredArgument& argument,
                                   const TypeNames& types);

// The tokens as text, in which names that `replacements` have become their texts.
[[nodiscard]] std::string replaced(const std::vector<Token>& tokens, const TypeNames& replacements);

}  // namespace autotune
