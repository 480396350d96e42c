// Supplies the compiled images of kernels for one device.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "autotune/autotune.hpp"

#include "api/log.hpp"
#include "core/device_info.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

// Thread-safe.
class KernelImages {
 public:
  // `log` and `store` outlive this.
  KernelImages(DeviceInfo device, const Log& log, CubinStore& store, MissPolicy miss);

  // From the cubin store, which needs no compiler; else compiled now, where the policy has it so.
  // Without a compiler aligned operands may get the code for any. `compiler_build` is the one that
  // the configuration was measured with, or empty. Throws EnvironmentError without a compiler,
  // NotTunedError where none may be used, Error with a compiler's first words when it refuses the
  // kernel.
  [[nodiscard]] std::string image(const KernelTemplate& kernel, const Configuration& configuration,
                                  const CodeTraits& traits, const std::string& compiler_build);

 private:
  [[nodiscard]] StoredCubin compile(const KernelTemplate& kernel, CompileRequest request);

  DeviceInfo device_;
  const Log& log_;
  CubinStore& store_;
  MissPolicy miss_;
  std::mutex compilers_mutex_;
  std::vector<std::unique_ptr<WorkerService>> idle_compilers_;  // opened when first needed
};

}  // namespace autotune
