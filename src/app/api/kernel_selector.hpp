// Selects the kernel for a problem, and supplies its compiled image.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "autotune/autotuner.hpp"

#include "core/device_info.hpp"
#include "db/cubin_store.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

struct KernelChoice {
  const KernelTemplate* kernel = nullptr;
  BestConfiguration best;
  std::string compiler_build;  // that it was measured with; empty when it was not
};

// The placement of operands in memory:
//   aligned    as CodeTraits has it
//   anywhere
//   frugal     anywhere, and there is no memory for a workspace
enum class Placement : std::uint8_t { aligned, anywhere, frugal };

// Thread-safe.
class KernelSelector {
 public:
  // `database`, `use_shipped`: as AutotunerOptions has them.
  KernelSelector(DeviceInfo device, std::string database, bool use_shipped = true);

  [[nodiscard]] const DeviceInfo& device() const { return device_; }

  // The best stored configuration, else the default of the first template that supports the
  // problem.
  [[nodiscard]] KernelChoice choose(const GemmProblem& problem, Placement placement) const;
  // Results that could not be stored: from now on they are what is read.
  void keep_in_memory(TuningDatabase results);

  // From the cubin store, which needs no compiler; else compiled now. Without a compiler aligned
  // operands may get the code for any. Throws EnvironmentError
  // without a compiler, Error with its first words when it refuses the kernel.
  [[nodiscard]] std::string image(const KernelChoice& choice, const CodeTraits& traits);

 private:
  [[nodiscard]] StoredCubin compile(const CompileRequest& request);

  DeviceInfo device_;
  std::string database_;
  bool use_shipped_;
  mutable std::mutex results_mutex_;
  std::shared_ptr<const TuningDatabase> results_in_memory_;
  std::mutex compiler_mutex_;
  std::unique_ptr<WorkerService> compiler_;  // opened when it is first needed
};

}  // namespace autotune
