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

// Names are looked for one after the other, and a text from a file may have any number of them.
void check_names(std::size_t count) {
  constexpr std::size_t kMostNames = 100;
  if (count <= kMostNames) return;
  throw UsageError("configuration has " + std::to_string(count) + " parameters: at most " +
                   std::to_string(kMostNames) + " are allowed");
}

}  // namespace

Configuration::Configuration(const std::vector<Entry>& entries) {
  check_names(entries.size());
  Names names;
  for (const auto& [name, value] : entries) {
    names.push_back(name);
    values_.push_back(value);
  }
  names_ = std::make_shared<const Names>(std::move(names));
}

Configuration Configuration::parse(std::string_view text) {
  check_names(1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')));
  std::vector<Entry> entries;
  while (true) {
    const std::size_t comma = text.find(',');
    Entry entry = parse_entry(text.substr(0, comma));
    for (const auto& [name, value] : entries) {
      if (name == entry.first) throw UsageError("configuration names " + name + " twice");
    }
    entries.push_back(std::move(entry));
    if (comma == std::string_view::npos) return Configuration(entries);
    text.remove_prefix(comma + 1);
  }
}

std::size_t Configuration::find(std::string_view name) const {
  // Names of the same length mostly differ at one of their ends (RESULTS_M, RESULTS_N, BLOCK_K,
  // SPLIT_K), so the first and the last characters are compared first.
  const auto is_meant = [name](const std::string& other) {
    if (other.size() != name.size()) return false;
    return name.empty() ||
           (other.front() == name.front() && other.back() == name.back() && other == name);
  };
  std::size_t place = 0;
  while (place < values_.size() && !is_meant((*names_)[place])) ++place;
  return place;
}

std::int64_t Configuration::at(std::string_view name) const {
  const std::size_t place = find(name);
  if (place == values_.size()) {
    throw UsageError("configuration has no parameter " + std::string(name));
  }
  return values_[place];
}

bool Configuration::contains(std::string_view name) const {
  return find(name) < values_.size();
}

void Configuration::set(std::string_view name, std::int64_t value) {
  const std::size_t place = find(name);
  if (place < values_.size()) {
    values_[place] = value;
    return;
  }
  Names names;  // a copy, since other configurations may share the present names
  for (std::size_t i = 0; i < place; ++i) names.push_back((*names_)[i]);
  names.emplace_back(name);
  names_ = std::make_shared<const Names>(std::move(names));
  values_.push_back(value);
}

int Configuration::compare(const Configuration& other) const {
  const auto order = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
  if (names_ == other.names_) return order(values_, other.values_);
  const std::size_t both = std::min(values_.size(), other.values_.size());
  for (std::size_t i = 0; i < both; ++i) {
    const int names = (*names_)[i].compare((*other.names_)[i]);
    if (names != 0) return names;
    if (values_[i] != other.values_[i]) return order(values_[i], other.values_[i]);
  }
  return order(values_.size(), other.values_.size());
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
