#include "tuner/devices/code_cache.hpp"

namespace autotune {

bool CodeCache::reuse(Trial& trial, const std::string& code, const LaunchGeometry& geometry) {
  const auto found = trials_.find({trial.problem, trial.template_name, code, geometry});
  if (found == trials_.end()) return false;
  const Trial& equal = found->second;
  trial.status = equal.status;
  trial.detail = "the same machine code as " + to_string(equal.configuration);
  if (!equal.detail.empty()) trial.detail += ": " + equal.detail;
  trial.measurement = equal.measurement;
  trial.verification = equal.verification;
  ++reused_;
  return true;
}

void CodeCache::keep(const Trial& trial, const std::string& code, const LaunchGeometry& geometry) {
  const bool is_of_the_code =
      trial.status != TrialStatus::run_crashed && trial.status != TrialStatus::out_of_memory;
  if (!is_of_the_code) return;
  trials_.insert_or_assign({trial.problem, trial.template_name, code, geometry}, trial);
}

}  // namespace autotune
