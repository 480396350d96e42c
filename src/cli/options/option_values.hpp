// Reads single values out of the texts of options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace autotune
