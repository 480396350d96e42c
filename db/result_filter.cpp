#include "db/result_filter.hpp"

#include <string_view>

#include <strings.h>

namespace autotune {

bool same_label(const std::string& a, const std::string& b) {
  return ::strcasecmp(current_label(a).c_str(), current_label(b).c_str()) == 0;
}

std::string current_label(const std::string& label) {
  constexpr std::string_view kFormer = "host: ";
  if (::strncasecmp(label.c_str(), kFormer.data(), kFormer.size()) != 0) return label;
  return "cpu: " + label.substr(kFormer.size());
}

bool matches(const ResultFilter& filter, const Winner& winner) {
  return (filter.device_class.empty() || filter.device_class == winner.device_class) &&
         (filter.device_label.empty() || same_label(filter.device_label, winner.device_label)) &&
         (filter.operation.empty() || filter.operation == winner.problem.operation()) &&
         (filter.problem == Problem() || filter.problem == winner.problem);
}

}  // namespace autotune
