#include "core/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// This is a table for speed, because a search for the nearest problem parses all keys.
constexpr auto kAllowed = [] {
  std::array<bool, 256> allowed = {};
  for (unsigned char c = 'a'; c <= 'z'; ++c) allowed[c] = allowed[c - 'a' + 'A'] = true;
  for (const char c : std::string_view("0123456789_.+-"))
    allowed[static_cast<unsigned char>(c)] = true;
  return allowed;
}();

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return kAllowed[static_cast<unsigned char>(c)];
  });
}

bool begins_a_number(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

void require(bool holds, std::string_view text) {
  if (!holds) throw Error("'" + std::string(text) + "' is not part of a problem's key");
}

// Only the shortest text of a number is accepted: a problem has one key.
std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  require(std::to_string(number) == text, text);
  return number;
}

template <typename Named>
const Named& named(const std::vector<Named>& all, std::string_view name, const std::string& key) {
  // A first character tells most names apart, and cost models ask for every configuration.
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) {
    return name.starts_with(one.name[0]) && one.name == name;
  });
  if (found == all.end()) throw Error("'" + key + "' has no " + std::string(name));
  return *found;
}

}  // namespace

Problem::Problem() {
  static const auto& none = *new auto(std::make_shared<const Data>());
  data_ = none;
}

Problem::Problem(std::string operation, std::vector<Size> sizes, std::vector<Trait> traits) {
  std::string key = std::move(operation);
  for (const Size& size : sizes) key += " " + size.name + "=" + std::to_string(size.value);
  for (const Trait& trait : traits) key += " " + trait.name + "=" + trait.value;
  *this = parse(key);
  require(this->sizes() == sizes && this->traits() == traits, key);
}

Problem Problem::parse(std::string_view key) {
  if (key.empty()) return {};
  auto data = std::make_shared<Data>();
  data->key = key;
  std::size_t begin = 0;
  const auto next_word = [&] {
    const std::string_view word = key.substr(begin, key.find(' ', begin) - begin);
    begin += word.size() + 1;
    return word;
  };
  const auto values = static_cast<std::size_t>(std::count(key.begin(), key.end(), '='));
  data->sizes.reserve(values);
  data->traits.reserve(values);
  data->operation = next_word();
  require(is_word(data->operation), key);
  // A space at the end is one more word, which is empty.
  while (begin <= key.size()) {
    const std::string_view word = next_word();
    const std::size_t equals = word.find('=');
    require(equals != std::string_view::npos, word);
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    require(is_word(name) && is_word(value), word);
    if (!begins_a_number(value)) {
      data->traits.push_back({std::string(name), std::string(value)});
    } else {
      require(data->traits.empty(), word);
      data->sizes.push_back({std::string(name), number_of(value)});
    }
  }
  Problem problem;
  problem.data_ = std::move(data);
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
