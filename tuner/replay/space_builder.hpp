// Makes a recorded space of its results, of which it keeps little more than the space will have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuner/replay/parameter_values.hpp"
#include "tuner/replay/recorded_result.hpp"
#include "tuner/replay/recorded_space.hpp"

namespace autotune {

class SpaceBuilder {
 public:
  void add(const RecordedResult& result);
  // The space, but for its name and its kernel; leaves nothing behind.
  [[nodiscard]] RecordedSpace take();
  // Returns whether some configurations have other parameters than the first. The space lacks them.
  [[nodiscard]] bool parameters_differ() const { return parameters_differ_; }
  // The objective that a result lacks though it is ok, or an empty text.
  [[nodiscard]] const std::string& lacks() const { return lacks_; }

 private:
  // Takes a row of `rows_`; false if it has other parameters.
  bool add_row(const RecordedConfiguration& configuration);
  // A row of each configuration, in the order of their first rows.
  [[nodiscard]] std::vector<std::uint32_t> chosen_rows() const;
  [[nodiscard]] std::size_t width() const { return values_.size(); }

  RecordedSpace space_;  // with the outcomes of all rows
  bool begun_ = false;
  Configuration::Names names_;  // in the order of their first appearance
  std::map<std::string, std::size_t> columns_;
  std::vector<ParameterValues> values_;  // of each column
  std::vector<std::uint32_t> rows_;      // places of values
  bool parameters_differ_ = false;
  std::string lacks_;
};

}  // namespace autotune
