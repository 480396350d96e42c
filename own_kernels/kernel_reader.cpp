#include "own_kernels/kernel_reader.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "own_kernels/buffer_content.hpp"
#include "own_kernels/completeness.hpp"
#include "own_kernels/directives.hpp"
#include "own_kernels/kernel_scope.hpp"

namespace autotune {
namespace {

// Reads the directives that do not make names.
class KernelReader : KernelScope {
 public:
  using KernelScope::KernelScope;

  DescribedKernel read() {
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
        {"unchecked", &KernelReader::unchecked},
        {"results", &KernelReader::results},
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

  void set(TokenStream& tokens) {
    do {
      const Token name = tokens.expect_identifier("a name");
      tokens.expect("=");
      if (scope_.find(name.text)) {
        tokens.refuse(name, fmt::format("{} has a meaning already", name.text));
      }
      Expression value = expression(tokens);
      if (is_template_parameter(name.text)) {
        check_not_given(name);
        check_is_of_one(name, value);
        kernel_.macros.emplace_back(template_macro(name.text), value);
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
      content.content.results = named.content.content.results;
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

  void unchecked(TokenStream& tokens) {
    do {
      constexpr double kAnything = std::numeric_limits<double>::infinity();
      written(tokens).content.content.tolerance = {kAnything, 0};
    } while (tokens.next_if(","));
  }

  void results(TokenStream& tokens) {
    do {
      DescribedArgument& named = written(tokens);
      tokens.expect("=");
      const Token file = tokens.next();
      if (file.kind != Token::Kind::text) {
        tokens.refuse(
            file, "the results of an output are written to a file, e.g. results(y = \"y.npy\")");
      }
      named.content.content.results = file.text;
    } while (tokens.next_if(","));
  }

  // The output or inout that is named next.
  DescribedArgument& written(TokenStream& tokens) {
    const Token place = tokens.peek();
    DescribedArgument& named = buffer(tokens);
    if (named.role == TensorRole::input) {
      tokens.refuse(place,
                    fmt::format("{} is an input: it must be an output or an inout", named.name));
    }
    return named;
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
        content.first = is_unsigned(each.type) ? 0 : -2;
        content.second = content.first + 4;
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
    kernel_.key = identifier_of(key);
  }

  // The name of a kernel, host(FUNCTION), or files of expected values.
  void reference(TokenStream& tokens) {
    const bool is_host = tokens.peek().is("host") && tokens.peek(1).is("(");
    const bool is_kernel = tokens.peek(1).kind == Token::Kind::end;
    if ((is_host || is_kernel) && (kernel_.host_reference || !kernel_.reference.empty())) {
      tokens.refuse(tokens.peek(), "it is given twice");
    }
    if (is_host) {
      tokens.next();
      tokens.expect("(");
      const Token name = tokens.expect_identifier("the name of a function of the file");
      kernel_.host_reference = {std::string(name.text), name.offset, {}};
      tokens.expect(")");
      return;
    }
    if (is_kernel) {
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

  std::set<std::string> has_content_;
};

}  // namespace

std::string identifier_of(std::string text) {
  for (char& c : text) {
    const bool is_fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_fit) c = '_';
  }
  return text.empty() || (text[0] >= '0' && text[0] <= '9') ? "_" + text : text;
}

DescribedKernel read_kernel(const std::shared_ptr<const SourceText>& source,
                            const PragmaBlock& block, const KernelDeclaration& declaration,
                            const std::vector<std::string>& template_arguments) {
  return KernelReader(source, block, declaration, template_arguments).read();
}

}  // namespace autotune
