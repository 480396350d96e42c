// A configuration in a file of recorded results, and the readers of these files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "tuner/replay/recorded_json.hpp"

namespace autotune {

// The parameters of a configuration with any scalars as values.
class RecordedConfiguration {
 public:
  RecordedConfiguration() = default;
  // Throws an exception of the JSON library for anything but an object.
  RecordedConfiguration(const OrderedJson& object);
  RecordedConfiguration(std::shared_ptr<const std::vector<std::string>> names,
                        std::vector<OrderedJson> values);  // as many as names

  [[nodiscard]] const std::vector<std::string>& names() const;
  [[nodiscard]] const std::vector<OrderedJson>& values() const { return values_; }

 private:
  std::shared_ptr<const std::vector<std::string>> names_;  // none: there are no parameters
  std::vector<OrderedJson> values_;
};

struct RecordedResult {
  std::optional<Problem> problem;  // in recordings of this program
  std::string template_name;       // empty in recordings of other programs
  std::string device;              // empty in recordings of other programs
  RecordedConfiguration configuration;
  // A result that is ok and has no cost is a failure all the same.
  TrialStatus status = TrialStatus::ok;
  std::optional<double> cost;  // microseconds, where the objective is a time (objective.hpp)
  std::string lacks = {};  // the name of the objective if a result that is ok has no value of it
};

// Visits the results of a file or a pipe of any format, plain or compressed, in their order; "-" is
// standard input. Returns false while a search still writes it, and where that was ended. Throws
// UsageError that names the file.
bool read_recorded_file(const std::string& path,
                        const std::function<void(const RecordedResult&)>& visit);

// A ResultReader reads one result of a document, which may have a name there. It and the functions
// that make one of a document's outline throw UsageError, or an exception of the JSON library, for
// a file of another format.
using ResultReader =
    std::function<RecordedResult(const std::string& name, const OrderedJson& result)>;
// T4 results: schema 1.0.0, and as Kernel Tuner and KTT write them.
[[nodiscard]] ResultReader t4_reader(const OrderedJson& outline);
[[nodiscard]] ResultReader kernel_tuner_reader(const OrderedJson& outline);
// The list of results that Kernel Tuner's tune_kernel returns.
[[nodiscard]] ResultReader kernel_tuner_list_reader(const OrderedJson& outline);
[[nodiscard]] ResultReader ktt_reader(const OrderedJson& outline);
// The output of `autotune db export --format json`.
[[nodiscard]] ResultReader exported_trials_reader(const OrderedJson& outline);

}  // namespace autotune
