// Reads what follows --sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autotune/problem.hpp"

namespace autotune {

// The largest number that sizes and options may have.
inline constexpr std::int64_t kMaxSize = 2147483647;

// "1024,512x256x2048": 1 to 1024 items with commas between them, each N or MxNxK, each number
// [1-9][0-9]* and at most 2147483647. "@FILE" reads the items from a file, one a line. Duplicates
// are merged, the first of them kept. Throws UsageError that quotes the item that is wrong.
[[nodiscard]] std::vector<GemmProblem> parse_sizes(const std::string& text);

// Of equal m, n and k, in whatever layout.
[[nodiscard]] bool same_size(const GemmProblem& a, const GemmProblem& b);

// A list of positive integers, "16,32", for options; `option` stands in the message. Throws
// UsageError.
[[nodiscard]] std::vector<std::int64_t> parse_integers(const std::string& text,
                                                       const std::string& option);

// One positive integer, up to `most`. Throws UsageError.
[[nodiscard]] std::int64_t parse_integer(const std::string& text, const std::string& option,
                                         std::int64_t most = kMaxSize);

// "98%" as 0.98. Throws UsageError.
[[nodiscard]] double parse_share(const std::string& text, const std::string& option);

}  // namespace autotune
