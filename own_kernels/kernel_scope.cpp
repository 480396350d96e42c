#include "own_kernels/kernel_scope.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace autotune {

KernelScope::KernelScope(std::shared_ptr<const SourceText> source, const PragmaBlock& block,
                         const KernelDeclaration& declaration,
                         const std::vector<std::string>& template_arguments)
    : declaration_(declaration), directives_(source, block), division_(block.division) {
  kernel_.source = std::move(source);
  kernel_.name = declaration.name;
  kernel_.key = declaration.name;
  kernel_.offset = declaration.offset;
  types_ = template_types(*kernel_.source, declaration, directives_, template_arguments);
  add_arguments();
  directives_.each("size", [this](TokenStream& tokens) { add_size(tokens); });
  const std::vector<Directive>& all = directives_.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.text == "tune")
      add_parameter(all[i], i + 1 < all.size() ? &all[i + 1] : nullptr);
  }
}

bool KernelScope::is_template_parameter(std::string_view name) const {
  return std::ranges::any_of(declaration_.template_parameters,
                             [&](const TemplateParameter& each) { return each.name == name; });
}

void KernelScope::check_not_given(const Token& name) const {
  const auto given = types_.find(std::string(name.text));
  if (given == types_.end()) return;
  refuse(name.offset,
         fmt::format("the template argument {0} is given as {1}, but {0} gets its values here: "
                     "leave it out; tune --only {0}={1} tries this value alone",
                     name.text, given->second));
}

void KernelScope::add_arguments() {
  const std::vector<std::string> valued = directives_.assigned("scalar");
  for (const DeclaredArgument& declared : declaration_.arguments) {
    const ArgumentType type = type_of(*kernel_.source, declared, types_);
    DescribedArgument argument;
    argument.name = declared.name;
    argument.offset = declared.offset;
    argument.type = type.type;
    argument.width = type.width;
    if (declared.is_pointer) {
      argument.role = type.is_const ? TensorRole::input : TensorRole::output;
    } else {
      using enum DescribedArgument::Kind;
      argument.kind = type.is_whole ? number : scalar;
      argument.is_wide = type.is_wide;
      argument.is_unsigned = type.is_unsigned;
      const bool is_size = type.is_whole && std::ranges::count(valued, declared.name) == 0;
      if (is_size) argument.value = add_variable(declared.name, declared.offset);
    }
    kernel_.arguments.push_back(std::move(argument));
  }
}

Expression KernelScope::add_variable(const std::string& name, std::size_t offset) {
  if (scope_.find(name)) refuse(offset, fmt::format("{} has this name already", name));
  scope_.add_variable(name);
  kernel_.sizes.push_back(name);
  TokenStream tokens(*kernel_.source, offset, offset + name.size(),
                     TokenStream::Slashes::operation);
  return Expression::parse(tokens, scope_);
}

void KernelScope::add_size(TokenStream& tokens) {
  const Token name = tokens.expect_identifier("the name of a size");
  add_variable(std::string(name.text), name.offset);
}

void KernelScope::add_parameter(const Directive& directive, const Directive* next) {
  TokenStream tokens = directives_.stream(directive);
  const Token name = tokens.expect_identifier("the name of a parameter");
  tokens.expect("=");
  TuningParameter parameter{.name = std::string(name.text),
                            .values = Expression::parse_values(tokens, division_)};
  Directives::expect_end(tokens);
  if (scope_.find(parameter.name)) {
    refuse(name.offset,
           fmt::format("{} is the name of a size or another parameter already", parameter.name));
  }
  if (parameter.values.empty()) refuse(name.offset, parameter.name + " has no values");
  for (const std::int64_t value : parameter.values) {
    if (std::ranges::count(parameter.values, value) > 1) {
      refuse(name.offset, fmt::format("{} has the value {} twice", parameter.name, value));
    }
  }
  kernel_.defaults.push_back(parameter.values.front());
  if (next != nullptr && next->name.text == "default") {
    TokenStream own = directives_.stream(*next);
    const Token place = own.peek();
    const std::vector<std::int64_t> value = Expression::parse_values(own, division_);
    if (value.size() != 1 || std::ranges::count(parameter.values, value[0]) == 0) {
      own.refuse(place, fmt::format("the default must be one of {}'s values: {}", parameter.name,
                                    fmt::join(parameter.values, ", ")));
    }
    kernel_.defaults.back() = value[0];
  }
  if (is_template_parameter(name.text)) {
    check_not_given(name);
    parameter.macro = template_macro(name.text);
  }
  scope_.add_variable(parameter.name);
  kernel_.parameters.push_back(std::move(parameter));
}

Expression KernelScope::of_parameters(TokenStream& tokens, std::string_view what) const {
  const Token place = tokens.peek();
  Expression result = expression(tokens);
  for (const std::size_t variable : result.variables()) {
    if (variable >= kernel_.sizes.size()) continue;
    refuse(place.offset, fmt::format("{} may depend on parameters, but not on the size {}", what,
                                     kernel_.sizes[variable]));
  }
  return result;
}

Expression KernelScope::of_sizes(TokenStream& tokens, std::string_view what) const {
  const Token place = tokens.peek();
  Expression result = expression(tokens);
  for (const std::size_t variable : result.variables()) {
    if (variable < kernel_.sizes.size()) continue;
    refuse(place.offset, fmt::format("{} may depend on sizes, but not on the parameter {}", what,
                                     kernel_.parameters[variable - kernel_.sizes.size()].name));
  }
  return result;
}

DescribedArgument& KernelScope::argument(TokenStream& tokens, DescribedArgument::Kind kind) {
  const bool is_buffer = kind == DescribedArgument::Kind::buffer;
  const Token name = tokens.expect_identifier(is_buffer ? "a pointer" : "an argument");
  std::vector<std::string_view> known;
  for (DescribedArgument& each : kernel_.arguments) {
    if ((each.kind == DescribedArgument::Kind::buffer) != is_buffer) continue;
    if (each.name == name.text) return each;
    known.push_back(each.name);
  }
  tokens.refuse(name,
                fmt::format("'{}' is not {} of {}: these are {}", name.text,
                            is_buffer ? "a pointer among the arguments" : "an argument by value",
                            kernel_.name, fmt::join(known, ", ")));
}

void KernelScope::name_template_values() {
  for (const TemplateParameter& each : declaration_.template_parameters) {
    const auto given = types_.find(each.name);
    std::string value = given != types_.end() ? given->second : each.value;
    if (scope_.find(each.name) != nullptr) value = template_macro(each.name);
    if (value.empty()) {
      refuse(each.offset,
             fmt::format("the template parameter {0} has no value: add `#pragma kernel "
                         "tune({0} = ...)`",
                         each.name));
    }
    kernel_.template_values[each.name] = std::move(value);
  }
}

}  // namespace autotune
