// The inside of a Library, which its plans share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "autotune/autotune.hpp"

#include "api/background_tuner.hpp"
#include "api/bundled_kernels.hpp"
#include "api/fork_count.hpp"
#include "api/gemm_backend.hpp"
#include "api/kernel_launcher.hpp"
#include "api/log.hpp"
#include "api/result_source.hpp"
#include "api/tuning.hpp"
#include "select/portfolio.hpp"

namespace autotune {

// Thread-safe.
class Core {
 public:
  // Throws as Library's constructor does. In a process that was forked from the one that made it,
  // the object is not destroyed.
  static std::shared_ptr<Core> make(const LibraryOptions& options);

  // Throws UsageError in a process that was forked from the one that made this object.
  [[nodiscard]] GemmBackend& backend() const {
    check_not_forked(forks_);
    return *backend_;
  }

  TuningResult tune(const std::vector<GemmProblem>& problems, const TuningOptions& options);

  // For kernels of the application's own. There is either a bundle or results and cubins.
  [[nodiscard]] const BundledKernels* bundle() const { return bundle_ ? &*bundle_ : nullptr; }
  [[nodiscard]] const LibraryOptions& options() const { return options_; }
  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] const ResultSource& results() const { return *results_; }
  [[nodiscard]] CubinStore& cubins() { return *cubins_; }
  // What launches them. It is made when it is first asked for.
  [[nodiscard]] const KernelLauncher& launcher();
  // The same for the kernels of `kernels`. Throws UsageError with a bundle.
  TuneReport tune_own(const ShippedPortfolios& kernels, const TuneRequest& request,
                      const TuningOptions& options);

  // Ends what the Library does besides its calls. Its plans live on.
  void end_background();

 private:
  explicit Core(const LibraryOptions& options);
  [[nodiscard]] SelectorSetup selector_setup();
  [[nodiscard]] std::unique_ptr<GemmBackend> make_backend();
  [[nodiscard]] std::unique_ptr<BackgroundTuner> make_background_tuner();
  // Throws EnvironmentError where the bundle is for none of these devices.
  void check_bundle(const std::vector<DeviceInfo>& devices) const;
  TuningResult tune_on(const DeviceInfo& device, const std::vector<GemmProblem>& problems,
                       const TuningOptions& options);

  std::uint32_t forks_ = fork_count();
  LibraryOptions options_;
  Log log_;
  const ShippedPortfolios& portfolios_;  // and the kernels that the library has
  std::optional<BundledKernels> bundle_;
  std::optional<ResultSource> results_;  // there is a bundle or this
  std::optional<CubinStore> cubins_;     // without a bundle
  std::optional<Tuning> tuning_;         // the same
  std::unique_ptr<GemmBackend> backend_;
  std::once_flag launcher_made_;
  std::unique_ptr<const KernelLauncher> launcher_;
  std::unique_ptr<BackgroundTuner> background_;  // with MissPolicy::background
};

}  // namespace autotune
