// How long it takes to list the valid configurations of spaces with 10^8 combinations, of which 10^6
// are valid, with constraints over three parameters. In the space `early` they have values at once,
// in `late` only when nearly all parameters have. Prints a line for each: configurations, seconds,
// and the program's largest size in MB so far.
// usage: enumeration
#include <array>
#include <chrono>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/config_space.hpp"

namespace {

using namespace autotune;

Constraint sum_is_round(const std::array<std::string, 3>& names) {
  return {"sum_" + names[0] + names[1] + names[2],
          "the sum is a multiple of 10",
          [names](const Configuration& c) {
            return (c.at(names[0]) + c.at(names[1]) + c.at(names[2])) % 10 == 0;
          },
          {names.begin(), names.end()}};
}

void measure(const std::string& name, const std::vector<Constraint>& constraints) {
  std::vector<TuningParameter> parameters;
  for (const char* letter : {"A", "B", "C", "D", "E", "F", "G", "H"}) {
    parameters.push_back({letter, "", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
  }
  const ConfigSpace space(parameters, constraints);
  const auto begin = std::chrono::steady_clock::now();
  const Enumeration all = space.enumerate();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {} {:.2f} {}\n", name, all.configurations.size(), seconds.count(),
             usage.ru_maxrss / 1024);
}

}  // namespace

int main() {
  measure("early", {sum_is_round({"A", "B", "C"}), sum_is_round({"D", "E", "F"})});
  measure("late", {sum_is_round({"A", "D", "H"}), sum_is_round({"B", "E", "G"})});
}
