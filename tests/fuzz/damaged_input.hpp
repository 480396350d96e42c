// Inputs of the fuzzer, and what its targets do with them.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

namespace autotune::test {

using Corpus = std::vector<std::string>;

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

// Reads damaged input, which may be refused.
inline void read(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error&) {
    return;
  } catch (const nlohmann::json::exception&) {
    return;
  }
}

}  // namespace autotune::test
