// The reader of what KTT (https://github.com/HiPerCoRe/KTT) writes in its format JSON: a list of
// results, each with its configuration as a list of names and values.
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

TrialStatus status_of(const OrderedJson& result) {
  const OrderedJson& word = result.at("Status");
  if (word == "Ok") return TrialStatus::ok;
  if (word == "CompilationFailed") return TrialStatus::compile_failed;
  if (word == "ValidationFailed") return TrialStatus::wrong_result;
  return TrialStatus::launch_failed;  // any other reason
}

}  // namespace

ResultReader ktt_reader(const OrderedJson& outline) {
  const std::string unit = outline.at("Metadata").at("TimeUnit");
  return [unit](const std::string&, const OrderedJson& result) {
    std::vector<std::string> names;
    std::vector<OrderedJson> values;
    for (const OrderedJson& parameter : result.at("Configuration")) {
      names.push_back(parameter.at("Name"));
      values.push_back(parameter.at("Value"));
    }
    RecordedResult read{
        .configuration = {std::make_shared<const std::vector<std::string>>(std::move(names)),
                          std::move(values)},
        .status = status_of(result)};
    if (read.status == TrialStatus::ok) {
      read.cost = objective_cost("time", result.at("TotalDuration"), unit);
    }
    return read;
  };
}

}  // namespace autotune
