// The places of a .cu file that a description is made of, found without compiling it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "own_kernels/expression.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

// A part of a text: [begin, end).
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A pragma for kernels, with all lines that backslashes continue.
struct PragmaLine {
  std::size_t begin = 0;       // of the line's '#'
  std::size_t directives = 0;  // behind `pragma kernel`
  std::size_t end = 0;         // of the last line, at its '\n'
};

// Pragmas that no code separates, and the code behind them.
struct PragmaBlock {
  std::vector<PragmaLine> lines;
  std::size_t code = 0;                      // the first place behind them
  Division division = Division::truncating;  // in their expressions
};

struct IncludeLine {
  TextPart line;
  std::string name;  // between the quotes
};

struct SourceLayout {
  // The text with comments, pragmas for kernels and lines of the preprocessor as spaces, so that
  // only code is left, at the same places.
  std::string code;
  std::vector<PragmaBlock> blocks;
  std::vector<IncludeLine> includes;  // of files in quotes; headers in <> are the compiler's
};

[[nodiscard]] SourceLayout layout_of(const SourceText& source);

// A change of a text: the part becomes `text`.
struct TextEdit {
  TextPart part;
  std::string text;
};

// Applies edits of parts that do not overlap.
[[nodiscard]] std::string edited(const std::string& text, std::vector<TextEdit> edits);

// The text of a file of at most `most_bytes`. Throws UsageError that names the file.
[[nodiscard]] std::string read_source(const std::filesystem::path& path, std::size_t most_bytes);

// The edits that put the files that a source includes in their places, and those that these
// include. They are looked for in the including file's folder and then in the others. Throws
// UsageError for a file that is in none of them or outside of all, and for more than `most_bytes`.
[[nodiscard]] std::vector<TextEdit> expanded_includes(
    const SourceText& source, const SourceLayout& layout, const std::filesystem::path& folder,
    const std::vector<std::filesystem::path>& others, std::size_t most_bytes);

}  // namespace autotune
