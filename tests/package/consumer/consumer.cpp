#include <cstdio>

#include "autotune/configuration.hpp"
#include "autotune/error.hpp"
#include "autotune/problem.hpp"
#include "autotune/version.hpp"

int main() {
  const autotune::GemmProblem problem{.m = 2, .n = 3, .k = 4};
  const auto configuration = autotune::Configuration::parse("TILE_WIDTH=16");
  std::printf("%s %s %s\n", autotune::kVersion, autotune::to_string(problem).c_str(),
              autotune::to_string(configuration).c_str());
  return problem.operations() == 48 && configuration.at("TILE_WIDTH") == 16 ? 0 : 1;
}
