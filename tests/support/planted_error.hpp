// Errors planted in the text of gemm_simt, and where compilers must find them.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_set.hpp"

namespace autotune::test {

struct PlantedError {
  std::string file;  // in the source tree
  int line;
  std::string source;  // the kernel's text with the error in it
};

// Replaces a piece of code by an unknown name. The piece must occur once in the file.
inline PlantedError plant_error(const std::string& file, const std::string& code) {
  std::ifstream stream(AUTOTUNE_SOURCE_DIR "/" + file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t place = text.find(code);
  REQUIRE(place != std::string::npos);
  std::string source(built_in_kernels().find("gemm_simt")->source);
  source.replace(source.find(code), code.size(), "planted_error;");
  const auto begin = text.begin();
  return {file,
          1 + static_cast<int>(std::count(begin, begin + static_cast<std::ptrdiff_t>(place), '\n')),
          source};
}

// In a header that others include, in one that only the kernel does, and in the kernel behind them.
inline std::vector<PlantedError> planted_errors() {
  return {plant_error("kernel_templates/device/vector.cuh", "return a < b ? a : b;"),
          plant_error("kernel_templates/device/split_k.cuh", "group = group_size(count);"),
          plant_error("kernel_templates/gemm_simt.cu", "cluster.init();")};
}

}  // namespace autotune::test
