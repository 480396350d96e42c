#include "own_kernels/host_code.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace autotune {
namespace {

// Reads the definitions of a text, without what stands in their braces.
class HostCodeReader {
 public:
  HostCodeReader(const SourceText& code, std::string_view wanted)
      : tokens_(code, 0, code.text().size(), TokenStream::Slashes::comment), wanted_(wanted) {}

  void read() {
    std::size_t begin = tokens_.peek().offset;
    bool is_global = false, is_device = false, is_host = false;
    Token name;  // the last one before a bracket that no other encloses
    for (int depth = 0; !tokens_.at_end();) {
      const Token token = tokens_.next();
      depth += (token.is("(") ? 1 : 0) - (token.is(")") ? 1 : 0);
      is_global |= token.is("__global__");
      is_device |= token.is("__device__");
      is_host |= token.is("__host__");
      if (token.kind == Token::Kind::identifier && depth == 0 && tokens_.peek().is("(")) {
        name = token;
      }
      const bool opens = token.is("{");
      if (!opens && !token.is("}") && !token.is(";")) continue;
      if (is_global || (is_device && !is_host)) {
        if (opens) skip_braces();
        device_parts_.push_back({begin, tokens_.taken_end()});
      } else if (opens && name.text == wanted_) {
        function_ = name.offset;
      }
      begin = tokens_.peek().offset;
      is_global = is_device = is_host = false;
      name = {};
      depth = 0;
    }
  }

  [[nodiscard]] const std::vector<TextPart>& device_parts() const { return device_parts_; }
  [[nodiscard]] std::optional<std::size_t> function() const { return function_; }

 private:
  // Takes all up to the brace that closes the open one. More braces follow those of a member's
  // initial value.
  void skip_braces() {
    do {
      for (int depth = 1; depth > 0 && !tokens_.at_end();) {
        const Token token = tokens_.next();
        depth += (token.is("{") ? 1 : 0) - (token.is("}") ? 1 : 0);
      }
      while (!tokens_.at_end() && tokens_.peek().is(",")) {
        while (!tokens_.at_end() && !tokens_.peek().is("{") && !tokens_.peek().is(";")) {
          tokens_.next();
        }
      }
    } while (tokens_.next_if("{"));
  }

  TokenStream tokens_;
  std::string_view wanted_;
  std::vector<TextPart> device_parts_;
  std::optional<std::size_t> function_;
};

// The text without the code of the parts. Lines of the preprocessor stay, since others may depend on
// them, and so do the numbers of lines.
std::string without(std::string text, const std::string& code, const std::vector<TextPart>& parts) {
  for (const TextPart& part : parts) {
    for (std::size_t i = part.begin; i < part.end; ++i) {
      if (code[i] != ' ' && code[i] != '\n') text[i] = ' ';
    }
  }
  return text;
}

}  // namespace

std::string host_code(const SourceText& source, std::vector<TextEdit> includes,
                      const DescribedKernel& kernel, const KernelDeclaration& declaration) {
  const HostReference& reference = kernel.host_reference.value();
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind != DescribedArgument::Kind::buffer) continue;
    if (each.type != ElementType::f16 && each.type != ElementType::bf16) continue;
    source.refuse(
        reference.place,
        fmt::format("{} has elements of 16 bits, which a function of the host has no type "
                    "for: name another kernel, or .npy files",
                    each.name));
  }
  const SourceText whole(source.name(), edited(source.text(), std::move(includes)));
  const SourceLayout layout = layout_of(whole);
  const SourceText code(source.name(), layout.code);
  HostCodeReader reader(code, reference.name);
  reader.read();
  if (!reader.function()) {
    source.refuse(reference.place,
                  fmt::format("the file defines no function '{}' for the host", reference.name));
  }
  std::string called;
  for (const std::string& each : namespaces_at(whole, layout, *reader.function())) {
    called += each + "::";
  }
  called += reference.name;
  std::vector<std::string> names;
  for (const DeclaredArgument& each : declaration.arguments) names.push_back(each.name);
  return fmt::format(
      "#line 1 \"{}\"\n{}\n#line 1 \"the call of {}\"\nextern \"C\" __global__ void {}({}) {{\n"
      "  {}({});\n}}\n",
      source.name(), without(whole.text(), layout.code, reader.device_parts()), reference.name,
      kHostReference, replaced(declaration.argument_list, kernel.template_values), called,
      fmt::join(names, ", "));
}

}  // namespace autotune
