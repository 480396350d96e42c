#include "own_kernels/declaration.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace autotune {
namespace {

struct NamedType {
  std::string_view name;
  ElementType type;
  std::int64_t width = 1;
};
constexpr NamedType kBufferTypes[] = {
    {"float", ElementType::f32},
    {"float1", ElementType::f32},
    {"float2", ElementType::f32, 2},
    {"float3", ElementType::f32, 3},
    {"float4", ElementType::f32, 4},
    {"double", ElementType::f64},
    {"double2", ElementType::f64, 2},
    {"double3", ElementType::f64, 3},
    {"double4", ElementType::f64, 4},
    {"half", ElementType::f16},
    {"__half", ElementType::f16},
    {"half2", ElementType::f16, 2},
    {"__half2", ElementType::f16, 2},
    {"nv_bfloat16", ElementType::bf16},
    {"__nv_bfloat16", ElementType::bf16},
    {"__nv_bfloat162", ElementType::bf16, 2},
    {"int", ElementType::i32},
    {"int32_t", ElementType::i32},
    {"uint32_t", ElementType::i32},
    {"uint", ElementType::i32},
    {"int2", ElementType::i32, 2},
    {"int4", ElementType::i32, 4},
    {"uint2", ElementType::i32, 2},
    {"uint4", ElementType::i32, 4},
    {"char", ElementType::i8},
    {"int8_t", ElementType::i8},
    {"char2", ElementType::i8, 2},
    {"char4", ElementType::i8, 4},
    {"uchar", ElementType::u8},
    {"uint8_t", ElementType::u8},
    {"uchar2", ElementType::u8, 2},
    {"uchar4", ElementType::u8, 4},
    {"short", ElementType::i16},
    {"int16_t", ElementType::i16},
    {"short2", ElementType::i16, 2},
    {"short4", ElementType::i16, 4},
    {"ushort", ElementType::u16},
    {"uint16_t", ElementType::u16},
    {"ushort2", ElementType::u16, 2},
    {"ushort4", ElementType::u16, 4},
    {"long", ElementType::i64},
    {"int64_t", ElementType::i64},
    {"ptrdiff_t", ElementType::i64},
    {"longlong2", ElementType::i64, 2},
    {"ulong", ElementType::u64},
    {"uint64_t", ElementType::u64},
    {"size_t", ElementType::u64},
    {"ulonglong2", ElementType::u64, 2},
};
constexpr std::array<std::string_view, 16> kWholeTypes = {
    "int",     "unsigned", "signed",  "long",     "short",   "char",     "bool",    "size_t",
    "int32_t", "uint32_t", "int64_t", "uint64_t", "int16_t", "uint16_t", "uint8_t", "ptrdiff_t"};
constexpr std::array<std::string_view, 5> kWideTypes = {"long", "size_t", "int64_t", "uint64_t",
                                                        "ptrdiff_t"};
constexpr std::array<std::string_view, 6> kQualifiers = {
    "const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__"};

// The one name of a type that may be written as several words: "ulong" for unsigned long long int.
std::string one_name(std::set<std::string_view> words) {
  const bool has_sign = words.erase("signed") > 0;
  const bool is_unsigned = words.erase("unsigned") > 0;
  if (words.size() > 1) words.erase("int");
  if (words.empty() && (has_sign || is_unsigned)) words.insert("int");
  if (words.size() != 1) return "";
  return (is_unsigned ? "u" : "") + std::string(*words.begin());
}

template <typename Words>
bool is_one_of(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

class DeclarationParser {
 public:
  DeclarationParser(const SourceText& source, std::size_t place)
      : tokens_(source, place, source.text().size(), TokenStream::Slashes::comment) {}

  KernelDeclaration parse() {
    if (tokens_.next_if("template")) parse_template();
    parse_attributes();
    const Token name = tokens_.expect_identifier("the name of the kernel");
    result_.name = name.text;
    result_.offset = name.offset;
    tokens_.expect("(");
    parse_arguments();
    return std::move(result_);
  }

 private:
  void parse_template() {
    tokens_.expect("<");
    do {
      TemplateParameter parameter;
      Token last = tokens_.next();
      parameter.is_type = last.is("typename") || last.is("class");
      while (tokens_.peek().kind == Token::Kind::identifier) last = tokens_.next();
      if (last.kind != Token::Kind::identifier) {
        tokens_.refuse(last, "expected the name of a template parameter");
      }
      parameter.name = last.text;
      parameter.offset = last.offset;
      if (tokens_.next_if("=")) parameter.value = std::string(tokens_.next().text);
      result_.template_parameters.push_back(std::move(parameter));
    } while (tokens_.next_if(","));
    tokens_.expect(">");
  }

  void parse_attributes() {
    bool has_global = false, has_void = false;
    for (;;) {
      const Token token = tokens_.peek();
      if (token.is("extern")) {
        tokens_.next();
        const Token language = tokens_.next();
        if (language.kind != Token::Kind::text || language.text != "C") {
          tokens_.refuse(language, "expected \"C\"");
        }
        result_.is_extern_c = true;
      } else if (token.is("__global__")) {
        result_.global = tokens_.next().offset;
        has_global = true;
      } else if (token.is("void")) {
        tokens_.next();
        has_void = true;
      } else if (token.is("static") || token.is("inline")) {
        tokens_.next();
      } else if (token.is("__launch_bounds__")) {
        result_.launch_bounds.push_back(tokens_.next());
        parse_parenthesised(result_.launch_bounds);
      } else if (has_global && has_void) {
        return;
      } else {
        tokens_.refuse(token, fmt::format("the pragmas describe no kernel: expected "
                                          "'__global__ void' in place of '{}'",
                                          token.text));
      }
    }
  }

  void parse_parenthesised(std::vector<Token>& into) {
    into.push_back(tokens_.expect("("));
    for (int depth = 1; depth > 0;) {
      const Token token = tokens_.next();
      if (token.kind == Token::Kind::end) tokens_.refuse(token, "a ')' is missing");
      depth += (token.is("(") ? 1 : 0) - (token.is(")") ? 1 : 0);
      into.push_back(token);
    }
  }

  void parse_arguments() {
    if (tokens_.next_if(")")) return;
    do {
      std::vector<Token> words;
      bool is_array = false;
      while (tokens_.peek().text != "," && tokens_.peek().text != ")") {
        const Token token = tokens_.next();
        if (token.kind == Token::Kind::end) tokens_.refuse(token, "a ')' is missing");
        result_.argument_list.push_back(token);
        if (token.is("[")) is_array = true;
        if (!is_array) words.push_back(token);
      }
      result_.arguments.push_back(argument(words, is_array));
      if (tokens_.peek().is(",")) result_.argument_list.push_back(tokens_.peek());
    } while (tokens_.next_if(","));
    tokens_.expect(")");
  }

  DeclaredArgument argument(std::vector<Token> words, bool is_array) {
    if (words.size() < 2 || words.back().kind != Token::Kind::identifier) {
      tokens_.refuse(words.empty() ? tokens_.peek() : words.back(),
                     "each argument of a described kernel has a name");
    }
    DeclaredArgument result;
    result.name = words.back().text;
    result.offset = words.back().offset;
    words.pop_back();
    result.is_pointer =
        is_array || std::ranges::any_of(words, [](const Token& word) { return word.is("*"); });
    result.type = std::move(words);
    return result;
  }

  TokenStream tokens_;
  KernelDeclaration result_;
};

}  // namespace

KernelDeclaration parse_declaration(const SourceText& source, const SourceLayout& layout,
                                    std::size_t place) {
  KernelDeclaration result = DeclarationParser(source, place).parse();
  result.namespaces = namespaces_at(source, layout, place);
  return result;
}

std::vector<std::string> namespaces_at(const SourceText& source, const SourceLayout& layout,
                                       std::size_t place) {
  const SourceText code(source.name(), layout.code);
  TokenStream tokens(code, 0, place, TokenStream::Slashes::comment);
  std::vector<std::string> open;  // empty: another brace
  while (!tokens.at_end()) {
    const Token token = tokens.next();
    if (token.is("namespace") && tokens.peek().kind == Token::Kind::identifier) {
      std::string name(tokens.next().text);
      while (tokens.next_if("::")) name += "::" + std::string(tokens.next().text);
      if (tokens.next_if("{")) open.push_back(name);
    } else if (token.is("{")) {
      open.emplace_back();
    } else if (token.is("}") && !open.empty()) {
      open.pop_back();
    }
  }
  std::erase(open, "");
  return open;
}

std::vector<KernelPlace> kernel_places(const SourceText& source, const SourceLayout& layout) {
  const SourceText code(source.name(), layout.code);
  TokenStream tokens(code, 0, layout.code.size(), TokenStream::Slashes::comment);
  std::vector<KernelPlace> places;
  std::size_t begin = tokens.peek().offset;
  bool is_kernel = false;
  Token name;  // the last one before a bracket that no other encloses
  for (int depth = 0; !tokens.at_end();) {
    const Token token = tokens.next();
    depth += (token.is("(") ? 1 : 0) - (token.is(")") ? 1 : 0);
    if (token.is("__global__")) is_kernel = true;
    if (token.kind == Token::Kind::identifier && depth == 0 && tokens.peek().is("(")) name = token;
    if (token.is("{") && is_kernel) places.push_back({std::string(name.text), begin, name.offset});
    if (token.is("{") || token.is("}") || token.is(";")) {
      begin = tokens.peek().offset;
      is_kernel = false;
      depth = 0;
    }
  }
  return places;
}

ArgumentType type_of(const SourceText& source, const DeclaredArgument& argument,
                     const TypeNames& types) {
  ArgumentType result;
  std::vector<std::string> words;
  bool behind_star = false;
  for (const Token& token : argument.type) {
    if (token.is("*")) behind_star = true;
    if (token.is("const") && !behind_star) result.is_const = true;
    if (token.kind != Token::Kind::identifier || is_one_of(kQualifiers, token.text)) continue;
    const auto known = types.find(std::string(token.text));
    words.push_back(known == types.end() ? std::string(token.text) : known->second);
  }
  const auto refuse = [&](std::string_view instead) {
    source.refuse(argument.offset,
                  fmt::format("{} has the type '{}', which cannot be described: {}", argument.name,
                              fmt::join(words, " "), instead));
  };
  std::set<std::string_view> all(words.begin(), words.end());
  if (!argument.is_pointer) {
    if (!words.empty() && std::ranges::all_of(words, [](const std::string& word) {
          return is_one_of(kWholeTypes, word);
        })) {
      result.is_whole = true;
      result.is_wide = std::ranges::any_of(
          words, [](const std::string& word) { return is_one_of(kWideTypes, word); });
      result.is_unsigned = all.contains("unsigned");
      return result;
    }
    if (words.size() == 1 && (words[0] == "float" || words[0] == "double")) {
      result.type = words[0] == "float" ? ElementType::f32 : ElementType::f64;
      return result;
    }
    refuse("an argument by value is a whole number, a float or a double");
  }
  const std::string name = one_name(all);
  const auto known =
      std::ranges::find_if(kBufferTypes, [&](const NamedType& each) { return each.name == name; });
  if (known != std::end(kBufferTypes)) {
    result.type = known->type;
    result.width = known->width;
    return result;
  }
  refuse(
      "a buffer has float, double, __half, __nv_bfloat16 or integers of 8 to 64 bits, or vectors "
      "of them");
  return result;
}

std::string replaced(const std::vector<Token>& tokens, const TypeNames& replacements) {
  std::string text;
  for (const Token& token : tokens) {
    const auto known = token.kind == Token::Kind::identifier
                           ? replacements.find(std::string(token.text))
                           : replacements.end();
    if (!text.empty()) text += ' ';
    text += known == replacements.end() ? std::string(token.text) : known->second;
  }
  return text;
}

}  // namespace autotune
