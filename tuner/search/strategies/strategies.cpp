// The list of strategies. A new strategy needs its file in this folder and a line in each place
// below.

#include "autotune/error.hpp"

#include "tuner/search/strategy.hpp"

namespace autotune {

std::unique_ptr<SearchStrategy> make_evolutionary(const SearchSpace& space);
std::unique_ptr<SearchStrategy> make_exhaustive(const SearchSpace& space);
std::unique_ptr<SearchStrategy> make_local(const SearchSpace& space);
std::unique_ptr<SearchStrategy> make_model(const SearchSpace& space);
std::unique_ptr<SearchStrategy> make_random(const SearchSpace& space);

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<SearchStrategy> (*make)(const SearchSpace&);
};

constexpr Entry kStrategies[] = {
    {"evolutionary", make_evolutionary},
    {"exhaustive", make_exhaustive},
    {"local", make_local},
    {"model", make_model},
    {"random", make_random},
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<SearchStrategy> make_strategy(const std::string& name, const SearchSpace& space) {
  std::string known;
  for (const Entry& entry : kStrategies) {
    if (name == entry.name) return entry.make(space);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw UsageError("strategy '" + name + "' is unknown: use one of " + known);
}

}  // namespace autotune
