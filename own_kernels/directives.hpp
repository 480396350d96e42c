// The directives of the pragmas before a kernel, as they are written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "own_kernels/declaration.hpp"
#include "own_kernels/source_layout.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

struct Directive {
  Token name;
  TextPart content;  // of its parentheses
};

class Directives {
 public:
  // Throws UsageError for what is not a sequence of NAME(...).
  Directives(std::shared_ptr<const SourceText> source, const PragmaBlock& block);

  [[nodiscard]] const std::vector<Directive>& all() const { return all_; }
  [[nodiscard]] TokenStream stream(const Directive& directive) const;
  // Calls `read` for each item of the directives of a name; commas separate items.
  void each(std::string_view name, const std::function<void(TokenStream&)>& read) const;
  // The names that stand before a `=` in the directives of a name.
  [[nodiscard]] std::vector<std::string> assigned(std::string_view name) const;

  // Throws UsageError unless all tokens were read.
  static void expect_end(TokenStream& tokens);

 private:
  void collect(const PragmaLine& line);

  std::shared_ptr<const SourceText> source_;
  std::vector<Directive> all_;
};

// The types of a template's parameters: `given` in their order, else from typename(T = float), else
// the defaults of the declaration. Values of other parameters are among them where they are given.
// Throws UsageError for a type that nothing says.
[[nodiscard]] TypeNames template_types(const SourceText& source,
                                       const KernelDeclaration& declaration,
                                       const Directives& directives,
                                       const std::vector<std::string>& given);

}  // namespace autotune
