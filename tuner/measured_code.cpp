#include "tuner/measured_code.hpp"

#include "core/hash.hpp"

namespace autotune {
namespace {

std::string key_of(const Trial& trial, const std::string& code, const LaunchGeometry& geometry) {
  FieldHasher hasher;
  hasher.add(to_string(trial.problem)).add(to_string(trial.problem.math));
  hasher.add(trial.template_name).add(code);
  for (const std::int64_t extent : geometry.grid) hasher.add(extent);
  for (const std::int64_t extent : geometry.block) hasher.add(extent);
  hasher.add(geometry.dynamic_shared_bytes).add(geometry.scratch_bytes_per_block);
  return hasher.add(geometry.resident_blocks_per_sm).digest();
}

}  // namespace

bool MeasuredCode::fill_in(Trial& trial, const std::string& code, const LaunchGeometry& geometry) {
  const auto found = trials_.find(key_of(trial, code, geometry));
  if (found == trials_.end()) return false;
  const Trial& equal = found->second;
  trial.status = equal.status;
  trial.detail = "the same machine code as " + to_string(equal.configuration);
  if (!equal.detail.empty()) trial.detail += ": " + equal.detail;
  trial.measurement = equal.measurement;
  trial.verification = equal.verification;
  ++filled_in_;
  return true;
}

void MeasuredCode::keep(const Trial& trial, const std::string& code,
                        const LaunchGeometry& geometry) {
  const bool is_of_the_code =
      trial.status != TrialStatus::run_crashed && trial.status != TrialStatus::out_of_memory;
  if (is_of_the_code) trials_.insert_or_assign(key_of(trial, code, geometry), trial);
}

}  // namespace autotune
