#include "own_kernels/kernel_reader.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "own_kernels/buffer_content.hpp"
#include "own_kernels/completeness.hpp"
#include "own_kernels/directives.hpp"

namespace autotune {
namespace {

class KernelReader {
 public:
  KernelReader(std::shared_ptr<const SourceText> source, const PragmaBlock& block,
               const KernelDeclaration& declaration,
               const std::vector<std::string>& template_arguments)
      : declaration_(declaration), directives_(source, block) {
    kernel_.source = std::move(source);
    kernel_.name = declaration.name;
    kernel_.key = declaration.name;
    kernel_.offset = declaration.offset;
    types_ = template_types(*kernel_.source, declaration, directives_, template_arguments);
  }

  DescribedKernel read() {
    add_arguments();
    directives_.each("size", [this](TokenStream& tokens) { add_size(tokens); });
    for (std::size_t i = 0; i < directives_.all().size(); ++i) add_parameter(i);
    // The order of other directives is theirs, since definitions may refer to those before them.
    for (const bool roles : {true, false}) {
      for (const Directive& directive : directives_.all()) {
        if (is_role(directive.name.text) == roles) apply(directive);
      }
    }
    fill_launch();
    choose_contents();
    name_template_values();
    check_complete(kernel_);
    return std::move(kernel_);
  }

 private:
  using Handler = void (KernelReader::*)(TokenStream&);

  [[noreturn]] void refuse(std::size_t offset, const std::string& message) const {
    kernel_.source->refuse(offset, message);
  }

  // Whole numbers are sizes, unless a directive gives their value.
  void add_arguments() {
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
        const bool is_size = type.is_whole && std::ranges::count(valued, declared.name) == 0;
        if (is_size) argument.value = add_variable(declared.name, declared.offset);
      }
      kernel_.arguments.push_back(std::move(argument));
    }
  }

  // Returns the variable as an expression.
  Expression add_variable(const std::string& name, std::size_t offset) {
    if (scope_.find(name)) refuse(offset, fmt::format("{} has this name already", name));
    scope_.add_variable(name);
    kernel_.sizes.push_back(name);
    TokenStream tokens(*kernel_.source, offset, offset + name.size(),
                       TokenStream::Slashes::operation);
    return Expression::parse(tokens, scope_);
  }

  void add_size(TokenStream& tokens) {
    const Token name = tokens.expect_identifier("the name of a size");
    add_variable(std::string(name.text), name.offset);
  }

  void add_parameter(std::size_t index) {
    const Directive& directive = directives_.all()[index];
    if (directive.name.text != "tune") return;
    TokenStream tokens = directives_.stream(directive);
    const Token name = tokens.expect_identifier("the name of a parameter");
    tokens.expect("=");
    TuningParameter parameter{.name = std::string(name.text),
                              .values = Expression::parse_values(tokens)};
    Directives::expect_end(tokens);
    if (scope_.find(parameter.name)) {
      refuse(name.offset,
             fmt::format("{} is the name of a size or another parameter already", parameter.name));
    }
    for (const std::int64_t value : parameter.values) {
      if (std::ranges::count(parameter.values, value) > 1) {
        refuse(name.offset, fmt::format("{} has the value {} twice", parameter.name, value));
      }
    }
    kernel_.defaults.push_back(parameter.values.front());
    if (index + 1 < directives_.all().size() &&
        directives_.all()[index + 1].name.text == "default") {
      TokenStream own = directives_.stream(directives_.all()[index + 1]);
      const Token place = own.peek();
      const std::vector<std::int64_t> value = Expression::parse_values(own);
      if (value.size() != 1 || std::ranges::count(parameter.values, value[0]) == 0) {
        own.refuse(place, fmt::format("the default must be one of {}'s values: {}", parameter.name,
                                      fmt::join(parameter.values, ", ")));
      }
      kernel_.defaults.back() = value[0];
    }
    const bool is_template_argument = std::ranges::any_of(
        declaration_.template_parameters, [&](const auto& each) { return each.name == name.text; });
    if (is_template_argument) parameter.macro = "KERNEL_" + parameter.name;
    scope_.add_variable(parameter.name);
    kernel_.parameters.push_back(std::move(parameter));
  }

  void apply(const Directive& directive) {
    static const std::map<std::string_view, Handler> handlers = {
        {"tune", nullptr},
        {"default", nullptr},
        {"size", nullptr},
        {"typename", nullptr},
        {"set", &KernelReader::set},
        {"restriction", &KernelReader::restriction},
        {"restrictions", &KernelReader::restriction},
        {"block_size", &KernelReader::three<&DescribedKernel::block>},
        {"block_dim", &KernelReader::three<&DescribedKernel::block>},
        {"grid_size", &KernelReader::three<&DescribedKernel::grid>},
        {"grid_dim", &KernelReader::three<&DescribedKernel::grid>},
        {"problem_size", &KernelReader::three<&DescribedKernel::extent>},
        {"problem_dim", &KernelReader::three<&DescribedKernel::extent>},
        {"grid_divisor", &KernelReader::three<&DescribedKernel::divisor>},
        {"grid_divisors", &KernelReader::three<&DescribedKernel::divisor>},
        {"shared_memory", &KernelReader::shared_memory},
        {"buffers", &KernelReader::buffers},
        {"buffer", &KernelReader::buffers},
        {"input", &KernelReader::role<TensorRole::input>},
        {"output", &KernelReader::role<TensorRole::output>},
        {"inout", &KernelReader::role<TensorRole::inout>},
        {"data", &KernelReader::data},
        {"tolerance", &KernelReader::tolerance},
        {"scalar", &KernelReader::scalar},
        {"define", &KernelReader::define},
        {"tuning_key", &KernelReader::tuning_key},
        {"reference", &KernelReader::reference},
        {"work", &KernelReader::work},
        {"compiler", &KernelReader::compiler},
    };
    const auto found = handlers.find(directive.name.text);
    if (found == handlers.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, unused] : handlers) known.push_back(name);
      refuse(directive.name.offset, fmt::format("'{}' is not a directive: these are {}",
                                                directive.name.text, fmt::join(known, ", ")));
    }
    if (found->second == nullptr) return;
    TokenStream tokens = directives_.stream(directive);
    (this->*found->second)(tokens);
    Directives::expect_end(tokens);
  }

  static bool is_role(std::string_view directive) {
    return directive == "input" || directive == "output" || directive == "inout";
  }

  Expression expression(TokenStream& tokens) { return Expression::parse(tokens, scope_); }

  // An expression that sizes have no part in.
  Expression of_parameters(TokenStream& tokens, std::string_view what) {
    const Token place = tokens.peek();
    Expression result = expression(tokens);
    for (const std::size_t variable : result.variables()) {
      if (variable >= kernel_.sizes.size()) continue;
      refuse(place.offset, fmt::format("{} may depend on parameters, but not on the size {}", what,
                                       kernel_.sizes[variable]));
    }
    return result;
  }

  // An expression that parameters have no part in.
  Expression of_sizes(TokenStream& tokens, std::string_view what) {
    const Token place = tokens.peek();
    Expression result = expression(tokens);
    for (const std::size_t variable : result.variables()) {
      if (variable < kernel_.sizes.size()) continue;
      refuse(place.offset, fmt::format("{} may depend on sizes, but not on the parameter {}", what,
                                       kernel_.parameters[variable - kernel_.sizes.size()].name));
    }
    return result;
  }

  void set(TokenStream& tokens) {
    do {
      const Token name = tokens.expect_identifier("a name");
      tokens.expect("=");
      if (scope_.find(name.text)) {
        tokens.refuse(name, fmt::format("{} has a meaning already", name.text));
      }
      Expression value = expression(tokens);
      const bool is_template_argument =
          std::ranges::any_of(declaration_.template_parameters,
                              [&](const auto& each) { return each.name == name.text; });
      if (is_template_argument) {
        check_is_of_one(name, value);
        kernel_.macros.emplace_back("KERNEL_" + std::string(name.text), value);
      }
      scope_.add_definition(std::string(name.text), std::move(value));
    } while (tokens.next_if(","));
  }

  void restriction(TokenStream& tokens) {
    do {
      Expression holds = expression(tokens);
      const bool has_sizes = std::ranges::any_of(
          holds.variables(), [this](std::size_t each) { return each < kernel_.sizes.size(); });
      kernel_.restrictions.push_back({std::move(holds), has_sizes});
    } while (tokens.next_if(","));
  }

  template <auto Member>
  void three(TokenStream& tokens) {
    auto& target = kernel_.*Member;
    if (target[0]) tokens.refuse(tokens.peek(), "it is given twice");
    std::size_t count = 0;
    do {
      if (count == target.size()) {
        tokens.refuse(tokens.peek(), "it has three expressions at most, for x, y and z");
      }
      target[count++] = expression(tokens);
    } while (tokens.next_if(","));
  }

  void shared_memory(TokenStream& tokens) { kernel_.shared_bytes = expression(tokens); }

  // The argument that a directive names.
  DescribedArgument& argument(TokenStream& tokens, DescribedArgument::Kind kind) {
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
  DescribedArgument& buffer(TokenStream& tokens) {
    return argument(tokens, DescribedArgument::Kind::buffer);
  }

  void buffers(TokenStream& tokens) {
    do {
      DescribedArgument& named = buffer(tokens);
      tokens.expect("[");
      named.elements = of_sizes(tokens, "the extent of a buffer");
      tokens.expect("]");
    } while (tokens.next_if(","));
  }

  template <TensorRole Role>
  void role(TokenStream& tokens) {
    do buffer(tokens).role = Role;
    while (tokens.next_if(","));
  }

  void data(TokenStream& tokens) {
    do {
      DescribedArgument& named = buffer(tokens);
      tokens.expect("=");
      DescribedContent content =
          parse_content(tokens, [&] { return of_sizes(tokens, "the data of a buffer"); });
      content.content.tolerance = named.content.content.tolerance;
      content.content.expected = named.content.content.expected;
      named.content = std::move(content);
      has_content_.insert(named.name);
    } while (tokens.next_if(","));
  }

  void tolerance(TokenStream& tokens) {
    do {
      const Token place = tokens.peek();
      DescribedArgument& named = buffer(tokens);
      tokens.expect("=");
      if (named.role == TensorRole::input) {
        tokens.refuse(place, fmt::format("{} is an input: outputs have tolerances", named.name));
      }
      named.content.content.tolerance = parse_tolerance(tokens, scope_);
    } while (tokens.next_if(","));
  }

  // Where no directive says what a buffer holds.
  void choose_contents() {
    for (DescribedArgument& each : kernel_.arguments) {
      if (has_content_.contains(each.name)) continue;
      TensorContent& content = each.content.content;
      if (each.role == TensorRole::inout) {
        content.kind = TensorContent::Kind::constant;
        content.first = 0;
      } else if (is_integer(each.type)) {
        content.kind = TensorContent::Kind::integers;
        content.first = -2;
        content.second = 2;
      }
    }
  }

  void scalar(TokenStream& tokens) {
    do {
      const Token place = tokens.peek();
      DescribedArgument& named = argument(tokens, DescribedArgument::Kind::scalar);
      tokens.expect("=");
      named.value = of_sizes(tokens, "the value of an argument");
      if (named.kind == DescribedArgument::Kind::scalar && !named.value->variables().empty()) {
        tokens.refuse(place, fmt::format("{} is not a whole number, so its value must not depend "
                                         "on sizes",
                                         named.name));
      }
    } while (tokens.next_if(","));
  }

  void define(TokenStream& tokens) {
    do {
      const Token name = tokens.expect_identifier("the name of a macro");
      tokens.expect("=");
      Expression value = expression(tokens);
      check_is_of_one(name, value);
      kernel_.macros.emplace_back(std::string(name.text), std::move(value));
    } while (tokens.next_if(","));
  }

  // The text of a macro follows from the problem or from the configuration.
  void check_is_of_one(const Token& name, const Expression& value) const {
    const auto of_sizes = std::ranges::count_if(
        value.variables(), [this](std::size_t each) { return each < kernel_.sizes.size(); });
    if (of_sizes == 0 || static_cast<std::size_t>(of_sizes) == value.variables().size()) return;
    refuse(name.offset, fmt::format("{} must depend on sizes or on parameters, not on both: make "
                                    "two macros of it",
                                    name.text));
  }

  void tuning_key(TokenStream& tokens) {
    std::string key;
    do {
      const auto type = types_.find(std::string(tokens.peek().text));
      if (type != types_.end()) {
        tokens.next();
        key += type->second;
      } else {
        const Token place = tokens.peek();
        const Expression part = expression(tokens);
        if (!part.variables().empty()) {
          tokens.refuse(place,
                        "a tuning key consists of texts and types: sizes and parameters are "
                        "stored beside it");
        }
        key += part.text({});
      }
    } while (tokens.next_if(","));
    kernel_.key = identifier(key);
  }

  static std::string identifier(std::string text) {
    for (char& c : text) {
      const bool is_fit =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!is_fit) c = '_';
    }
    return text.empty() || (text[0] >= '0' && text[0] <= '9') ? "_" + text : text;
  }

  // The name of a kernel, or files of expected values.
  void reference(TokenStream& tokens) {
    if (tokens.peek(1).kind == Token::Kind::end) {
      kernel_.reference = tokens.expect_identifier("the name of a kernel of the file").text;
      return;
    }
    do {
      DescribedArgument& named = buffer(tokens);
      tokens.expect("=");
      const Token file = tokens.next();
      if (file.kind != Token::Kind::text || named.role == TensorRole::input) {
        tokens.refuse(file,
                      "expected values of an output are in a file, e.g. "
                      "reference(y = \"expected.npy\")");
      }
      named.content.content.expected = file.text;
    } while (tokens.next_if(","));
  }

  void work(TokenStream& tokens) {
    do {
      const Token name = tokens.expect_identifier("operations or bytes");
      tokens.expect("=");
      if (name.text != "operations" && name.text != "bytes") {
        tokens.refuse(name, "work has `operations` and `bytes`");
      }
      (name.text == "bytes" ? kernel_.bytes : kernel_.operations) =
          of_sizes(tokens, "the work of a problem");
    } while (tokens.next_if(","));
  }

  void compiler(TokenStream& tokens) {
    do {
      const Token text = tokens.next();
      if (text.kind != Token::Kind::text) {
        tokens.refuse(text,
                      "an option of the compiler stands in quotes, e.g. "
                      "compiler(\"--use_fast_math\")");
      }
      DescribedOption option{std::string(text.text), {}, {}};
      const auto ends = [&] {
        return tokens.at_end() || tokens.peek().is(",") || tokens.peek().is("if");
      };
      if (!ends()) option.value = of_parameters(tokens, "an option of the compiler");
      if (tokens.next_if("if")) option.condition = of_parameters(tokens, "an option's condition");
      kernel_.compiler_options.push_back(std::move(option));
    } while (tokens.next_if(","));
  }

  // Kernel Tuner's names of a block's extents serve where no directive says them.
  void fill_launch() {
    constexpr const char* kNames[] = {"block_size_x", "block_size_y", "block_size_z"};
    if (kernel_.block[0]) return;
    for (std::size_t i = 0; i < kernel_.block.size(); ++i) {
      if (!scope_.find(kNames[i])) continue;
      const SourceText name(kernel_.source->name(), kNames[i]);
      TokenStream tokens(name, 0, name.text().size(), TokenStream::Slashes::operation);
      kernel_.block[i] = expression(tokens);
    }
  }

  void name_template_values() {
    for (const TemplateParameter& each : declaration_.template_parameters) {
      const auto given = types_.find(each.name);
      std::string value = given != types_.end() ? given->second : each.value;
      if (scope_.find(each.name) != nullptr) value = "KERNEL_" + each.name;
      if (value.empty()) {
        refuse(each.offset,
               fmt::format("the template parameter {0} has no value: add `#pragma kernel "
                           "tune({0} = ...)`",
                           each.name));
      }
      kernel_.template_values[each.name] = std::move(value);
    }
  }

  const KernelDeclaration& declaration_;
  Directives directives_;
  TypeNames types_;
  std::set<std::string> has_content_;
  Expression::Scope scope_;
  DescribedKernel kernel_;
};

}  // namespace

DescribedKernel read_kernel(const std::shared_ptr<const SourceText>& source,
                            const PragmaBlock& block, const KernelDeclaration& declaration,
                            const std::vector<std::string>& template_arguments) {
  return KernelReader(source, block, declaration, template_arguments).read();
}

}  // namespace autotune
