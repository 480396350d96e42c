// One choice of values for a kernel template's parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autotune {

// Parameter names (the template's macro names) with integer values, in the template's order.
// A value type; two configurations are equal when names, values and order are.
class Configuration {
 public:
  using Entry = std::pair<std::string, std::int64_t>;

  Configuration() = default;
  explicit Configuration(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // Reads "TILE_WIDTH=16,RESULTS_M=4". Throws UsageError that quotes the item that is wrong.
  static Configuration parse(std::string_view text);

  // The value of a parameter. Throws UsageError when there is none of that name.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const;
  void set(std::string_view name, std::int64_t value);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  auto operator<=>(const Configuration&) const = default;

 private:
  std::vector<Entry> entries_;
};

// "TILE_WIDTH=16,RESULTS_M=4", the form that parse() reads and the database keeps.
[[nodiscard]] std::string to_string(const Configuration& configuration);

}  // namespace autotune
