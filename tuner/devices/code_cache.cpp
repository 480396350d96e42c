#include "tuner/devices/code_cache.hpp"

#include "core/hash.hpp"

namespace autotune {

std::string execution_key(const Problem& problem, const std::string& template_name,
                          const std::string& code, const LaunchGeometry& geometry) {
  FieldHasher hasher;
  hasher.add(problem.key());
  hasher.add(template_name).add(code);
  for (const std::int64_t extent : geometry.grid) hasher.add(extent);
  for (const std::int64_t extent : geometry.block) hasher.add(extent);
  hasher.add(geometry.dynamic_shared_bytes).add(geometry.workspace_bytes_per_block);
  hasher.add(geometry.workspace_bytes_shared).add(geometry.preparation.blocks);
  for (const LaunchGeometry::Box& box : geometry.tensor_boxes) hasher.add(box[0]).add(box[1]);
  hasher.add(std::int64_t{geometry.waits_for_launch_before});
  return hasher.add(geometry.resident_blocks_per_sm).add(geometry.raster).digest();
}

bool CodeCache::reuse(Trial& trial, const std::string& code, const LaunchGeometry& geometry) {
  const auto found =
      trials_.find(execution_key(trial.problem, trial.template_name, code, geometry));
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
  trials_.insert_or_assign(execution_key(trial.problem, trial.template_name, code, geometry),
                           trial);
}

}  // namespace autotune
