#include "core/problem.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "autotune/error.hpp"

namespace autotune {
namespace {

bool is_word(std::string_view text) {
  constexpr std::string_view kOthers = "_.+-";
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool begins_a_number(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

void require(bool holds, std::string_view text) {
  if (!holds) throw Error("'" + std::string(text) + "' is not part of a problem's key");
}

template <typename Named>
const Named& named(const std::vector<Named>& all, std::string_view name, const std::string& key) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  if (found == all.end()) throw Error("'" + key + "' has no " + std::string(name));
  return *found;
}

}  // namespace

Problem::Problem() {
  static const auto none = std::make_shared<const Data>();
  data_ = none;
}

Problem::Problem(std::string operation, std::vector<Size> sizes, std::vector<Trait> traits) {
  require(is_word(operation), operation);
  std::string key = operation;
  for (const Size& size : sizes) {
    require(is_word(size.name), size.name);
    key += " " + size.name + "=" + std::to_string(size.value);
  }
  for (const Trait& trait : traits) {
    require(is_word(trait.name), trait.name);
    require(is_word(trait.value) && !begins_a_number(trait.value), trait.value);
    key += " " + trait.name + "=" + trait.value;
  }
  data_ = std::make_shared<const Data>(
      Data{std::move(operation), std::move(sizes), std::move(traits), std::move(key)});
}

Problem Problem::parse(std::string_view key) {
  const auto next_word = [&key] {
    const std::size_t space = key.find(' ');
    const std::string_view word = key.substr(0, space);
    key.remove_prefix(space == std::string_view::npos ? key.size() : space + 1);
    return word;
  };
  if (key.empty()) return {};
  const std::string_view whole = key;
  const std::string operation(next_word());
  std::vector<Size> sizes;
  std::vector<Trait> traits;
  while (!key.empty()) {
    const std::string_view word = next_word();
    const std::size_t equals = word.find('=');
    require(equals != std::string_view::npos, word);
    const std::string name(word.substr(0, equals));
    const std::string_view value = word.substr(equals + 1);
    if (!begins_a_number(value)) {
      traits.push_back({name, std::string(value)});
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    require(error == std::errc() && end == value.data() + value.size() && traits.empty(), word);
    sizes.push_back({name, number});
  }
  Problem problem(operation, std::move(sizes), std::move(traits));
  require(problem.key() == whole, whole);
  return problem;
}

std::int64_t Problem::size(std::string_view name) const {
  return named(sizes(), name, key()).value;
}

const std::string& Problem::trait(std::string_view name) const {
  return named(traits(), name, key()).value;
}

std::strong_ordering operator<=>(const Problem& a, const Problem& b) {
  if (a == b) return std::strong_ordering::equal;
  if (const auto order = a.operation() <=> b.operation(); order != 0) return order;
  if (const auto order = a.sizes() <=> b.sizes(); order != 0) return order;
  return a.traits() <=> b.traits();
}

bool same_traits(const Problem& a, const Problem& b) {
  return a.operation() == b.operation() && a.traits() == b.traits();
}

std::string to_string(const Problem& problem) {
  std::string text = problem.operation();
  std::string separator = " ";
  for (const Problem::Size& size : problem.sizes()) {
    text += std::exchange(separator, "x") + std::to_string(size.value);
  }
  for (const Problem::Trait& trait : problem.traits()) text += " " + trait.value;
  return text;
}

}  // namespace autotune
