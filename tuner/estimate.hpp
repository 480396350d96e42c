// What strategies are told of a space before the first trial.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/lane.hpp"
#include "tuner/strategy.hpp"

namespace autotune {

// By estimated_cycles(), valid as long as `configurations`. Empty where
// the device's SMs are not known, as of the host device.
[[nodiscard]] Estimate estimate_for(const KernelTemplate& kernel,
                                    const std::vector<Configuration>& configurations,
                                    const GemmProblem& problem, const std::string& silicon_class);

// The same, corrected by Experience with the trials of the nearest problem that this template was
// tuned for, of this device where there is one, else of another. `winners` name these problems. The
// trials are read when the estimate is first asked for; for that the database and `space` must
// last.
[[nodiscard]] Estimate experienced_estimate(const CandidateSpace& space, const GemmProblem& problem,
                                            const std::string& silicon_class,
                                            std::span<const Winner> winners,
                                            const TuningDatabase& database);

}  // namespace autotune
