#include "autotune/configuration.hpp"

#include <algorithm>
#include <charconv>

#include "autotune/error.hpp"

namespace autotune {
namespace {

Configuration::Entry parse_entry(std::string_view item) {
  const auto fail = [&] {
    throw UsageError("configuration item '" + std::string(item) +
                     "' is wrong: expected NAME=INTEGER, for example TILE_WIDTH=16");
  };
  const std::size_t equals = item.find('=');
  if (equals == 0 || equals == std::string_view::npos) fail();
  const std::string_view digits = item.substr(equals + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) fail();
  return {std::string(item.substr(0, equals)), value};
}

}  // namespace

Configuration Configuration::parse(std::string_view text) {
  Configuration result;
  while (true) {
    const std::size_t comma = text.find(',');
    Entry entry = parse_entry(text.substr(0, comma));
    if (result.contains(entry.first)) {
      throw UsageError("configuration names " + entry.first + " twice");
    }
    result.entries_.push_back(std::move(entry));
    if (comma == std::string_view::npos) return result;
    text.remove_prefix(comma + 1);
  }
}

std::int64_t Configuration::at(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return entry.second;
  }
  throw UsageError("configuration has no parameter " + std::string(name));
}

bool Configuration::contains(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.first == name; });
}

void Configuration::set(std::string_view name, std::int64_t value) {
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = value;
      return;
    }
  }
  entries_.emplace_back(name, value);
}

std::string to_string(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration.entries()) {
    if (!text.empty()) text += ',';
    text += name + "=" + std::to_string(value);
  }
  return text;
}

}  // namespace autotune
