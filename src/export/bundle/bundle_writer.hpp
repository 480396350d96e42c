// Makes the bytes of a bundle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "export/bundle/bundle_format.hpp"

namespace autotune {

struct BundleContent {
  BundleTarget target;
  std::string compiler;  // the build that made the cubins
  std::vector<BundledChoice> choices;
  std::map<std::string, std::string> cubins;  // by their keys
};

// Throws UsageError for more than a bundle can hold.
[[nodiscard]] std::string bundle_bytes(const BundleContent& content);

}  // namespace autotune
