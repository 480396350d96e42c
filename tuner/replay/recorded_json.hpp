// JSON as programs that record results write it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace autotune {

// The order of parameters matters, since a template's parameters have the order of its space.
using OrderedJson = nlohmann::ordered_json;

struct RecordedDocument {
  OrderedJson json;
  // False for a cache file of Kernel Tuner that its search has not closed: the search goes on, or
  // was ended. An entry that it was about to write is left out.
  bool is_whole = true;
};

// Throws UsageError for any other text that is not a whole JSON document.
[[nodiscard]] RecordedDocument parse_recorded_json(std::string text);

}  // namespace autotune
