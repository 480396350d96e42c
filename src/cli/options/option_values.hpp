// Reads single values out of the texts of options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/problem.hpp"

namespace autotune {

// The largest number that sizes and options may have.
inline constexpr std::int64_t kMaxSize = 2147483647;

// Quotes the user's text: shortened, without characters that a terminal would act upon.
[[nodiscard]] std::string in_quotes(std::string_view text);

// The parts between separators; empty parts are kept.
[[nodiscard]] std::vector<std::string> items_of(std::string_view text, char separator = ',');

// [1-9][0-9]*, up to `most`; nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_whole_number(std::string_view text,
                                                             std::int64_t most = kMaxSize);
// "16,32".
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_whole_numbers(std::string_view list);
// "0.98": finite and above 0.
[[nodiscard]] std::optional<double> parse_positive_number(std::string_view text);
// "1e-6": above 0 and below 1.
[[nodiscard]] std::optional<double> parse_error_limit(std::string_view text);
// "98%" as 0.98.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);
// "30", "30s", "5m" or "1h" in seconds, above 0 and up to 1e9.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

// "1024,512x256x2048": 1 to 1024 items with commas between them, each N or MxNxK, each number
// [1-9][0-9]* and at most 2147483647. "@FILE" reads the items from a file of at most 1 MiB, and
// "@-" from standard input: one a line, with comments from '#' on. Duplicates are merged, the first
// of them kept. Throws UsageError that quotes the item that is wrong and names its line.
[[nodiscard]] std::vector<GemmProblem> parse_sizes(const std::string& text);

// Compares m, n and k, and not the layout.
[[nodiscard]] bool same_size(const GemmProblem& a, const GemmProblem& b);

}  // namespace autotune
