#include "own_kernels/directives.hpp"

#include <utility>

#include <fmt/format.h>

namespace autotune {
namespace {

// How a token changes the depth of parentheses.
int depth_of(const Token& token) {
  return (token.is("(") ? 1 : 0) - (token.is(")") ? 1 : 0);
}

}  // namespace

Directives::Directives(std::shared_ptr<const SourceText> source, const PragmaBlock& block)
    : source_(std::move(source)) {
  for (const PragmaLine& line : block.lines) collect(line);
}

TokenStream Directives::stream(const Directive& directive) const {
  return {*source_, directive.content.begin, directive.content.end,
          TokenStream::Slashes::operation};
}

void Directives::collect(const PragmaLine& line) {
  TokenStream tokens(*source_, line.directives, line.end, TokenStream::Slashes::operation);
  while (!tokens.at_end()) {
    const Token name = tokens.expect_identifier("a directive, e.g. tune(...)");
    std::size_t end = tokens.expect("(").offset + 1;
    const std::size_t begin = end;
    for (int depth = 1; depth > 0;) {
      const Token token = tokens.next();
      if (token.kind == Token::Kind::end) {
        source_->refuse(begin - 1, "the ')' of this '(' is missing");
      }
      depth += depth_of(token);
      end = token.offset;
    }
    all_.push_back({name, {begin, end}});
  }
}

void Directives::each(std::string_view name, const std::function<void(TokenStream&)>& read) const {
  for (const Directive& directive : all_) {
    if (directive.name.text != name) continue;
    TokenStream tokens = stream(directive);
    do read(tokens);
    while (tokens.next_if(","));
    expect_end(tokens);
  }
}

std::vector<std::string> Directives::assigned(std::string_view name) const {
  std::vector<std::string> names;
  for (const Directive& directive : all_) {
    if (directive.name.text != name) continue;
    TokenStream tokens = stream(directive);
    int depth = 0;
    while (!tokens.at_end()) {
      const Token token = tokens.next();
      depth += depth_of(token);
      const bool is_name = depth == 0 && token.kind == Token::Kind::identifier;
      if (is_name && tokens.peek().is("=")) names.emplace_back(token.text);
    }
  }
  return names;
}

void Directives::expect_end(TokenStream& tokens) {
  if (!tokens.at_end()) tokens.refuse_next("',' or ')'");
}

TypeNames template_types(const SourceText& source, const KernelDeclaration& declaration,
                         const Directives& directives, const std::vector<std::string>& given) {
  TypeNames types;
  const std::vector<TemplateParameter>& parameters = declaration.template_parameters;
  if (given.size() > parameters.size()) {
    source.refuse(declaration.offset,
                  fmt::format("{} template arguments are given, but {} has {}", given.size(),
                              declaration.name, parameters.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) types[parameters[i].name] = given[i];
  directives.each("typename", [&](TokenStream& tokens) {
    const Token name = tokens.expect_identifier("the name of a template parameter");
    tokens.expect("=");
    std::string type;
    while (!tokens.at_end() && !tokens.peek().is(",")) {
      type += (type.empty() ? "" : " ") + std::string(tokens.next().text);
    }
    types.try_emplace(std::string(name.text), type);
  });
  for (const TemplateParameter& parameter : parameters) {
    if (!parameter.is_type) continue;
    if (!parameter.value.empty()) types.try_emplace(parameter.name, parameter.value);
    if (types.contains(parameter.name)) continue;
    source.refuse(
        parameter.offset,
        fmt::format("the type {0} is not given: add `#pragma kernel typename({0} = float)`, or "
                    "name it, e.g. --kernel FILE:{1}<float>",
                    parameter.name, declaration.name));
  }
  return types;
}

}  // namespace autotune
