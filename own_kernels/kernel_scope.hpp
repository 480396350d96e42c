// The names that the directives of one kernel may use: its sizes, parameters and arguments.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "own_kernels/declaration.hpp"
#include "own_kernels/directives.hpp"
#include "own_kernels/kernel_file.hpp"

namespace autotune {

// Functions throw UsageError that begins with FILE:LINE:COLUMN.
class KernelScope {
 public:
  // Takes the arguments of the declaration, and the directives `size`, `tune` and `typename`.
  KernelScope(std::shared_ptr<const SourceText> source, const PragmaBlock& block,
              const KernelDeclaration& declaration,
              const std::vector<std::string>& template_arguments);

 protected:
  [[noreturn]] void refuse(std::size_t offset, const std::string& message) const {
    kernel_.source->refuse(offset, message);
  }

  [[nodiscard]] Expression expression(TokenStream& tokens) const {
    return Expression::parse(tokens, scope_, division_);
  }
  // An expression that sizes have no part in; `what` it is of.
  [[nodiscard]] Expression of_parameters(TokenStream& tokens, std::string_view what) const;
  // An expression that parameters have no part in.
  [[nodiscard]] Expression of_sizes(TokenStream& tokens, std::string_view what) const;

  // The argument that comes next by its name: a buffer, or one that is passed by value.
  [[nodiscard]] DescribedArgument& argument(TokenStream& tokens, DescribedArgument::Kind kind);
  [[nodiscard]] DescribedArgument& buffer(TokenStream& tokens) {
    return argument(tokens, DescribedArgument::Kind::buffer);
  }

  [[nodiscard]] bool is_template_parameter(std::string_view name) const;
  // Refuses a name of the template's, at a place, whose value is given already.
  void check_not_given(const Token& name) const;
  // A parameter of the template cannot be a macro of its own name.
  [[nodiscard]] static std::string template_macro(std::string_view name) {
    return "KERNEL_" + std::string(name);
  }
  // Notes what the template is called with, once all names are known.
  void name_template_values();

  const KernelDeclaration& declaration_;
  Directives directives_;
  Division division_;
  TypeNames types_;
  Expression::Scope scope_;
  DescribedKernel kernel_;

 private:
  // Whole numbers are sizes, unless a directive gives their value.
  void add_arguments();
  // Returns the variable as an expression.
  Expression add_variable(const std::string& name, std::size_t offset);
  void add_size(TokenStream& tokens);
  // `next`: the directive behind it, which may be `default`.
  void add_parameter(const Directive& directive, const Directive* next);
};

}  // namespace autotune
