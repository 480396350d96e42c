// Selects the kernel for a problem, and supplies its compiled image.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "autotune/autotune.hpp"

#include "api/background_tuner.hpp"
#include "api/kernel_images.hpp"
#include "api/log.hpp"
#include "api/result_source.hpp"
#include "core/device_info.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "select/lookup.hpp"
#include "select/portfolio.hpp"

namespace autotune {

class BundledKernels;

struct KernelChoice {
  const KernelTemplate* kernel = nullptr;
  BestConfiguration best;
  GemmProblem problem;         // as the kernel computes it: see Choice
  std::string compiler_build;  // that it was measured with; empty when it was not
  bool is_confirmed = false;   // it won finals
};

// The placement of operands in memory:
//   aligned    as CodeTraits has it
//   anywhere
//   frugal     anywhere, and there is no memory for a workspace
enum class Placement : std::uint8_t { aligned, anywhere, frugal };
inline constexpr std::array kPlacements = {Placement::aligned, Placement::anywhere,
                                           Placement::frugal};

// The parts of LibraryOptions that choices depend on, and what they are made from.
struct SelectorSetup {
  const ShippedPortfolios& portfolios;  // and the kernels to choose from
  const Log& log;
  const ResultSource* results = nullptr;       // not used with a bundle
  CubinStore* cubins = nullptr;                // for image(); not used with a bundle
  const BundledKernels* bundle = nullptr;      // all kernels come from it, if there is one
  std::optional<DeviceQuery> results_of = {};  // of a device that is not here; else its own
  bool use_shipped_winners = true;
  MissPolicy miss = MissPolicy::predict;
  // Tunes a problem on a device now.
  std::function<void(const DeviceInfo&, const GemmProblem&)> tune = {};
  // With MissPolicy::background, gets every choice that is not final.
  std::function<void(Untuned)> in_background = {};
};

// Of one device. Thread-safe.
class KernelSelector {
 public:
  KernelSelector(DeviceInfo device, SelectorSetup setup);

  [[nodiscard]] const DeviceInfo& device() const { return device_; }
  [[nodiscard]] const KernelSet& kernels() const { return setup_.portfolios.kernels(); }

  // With MissPolicy::tune, tunes a problem that was not; otherwise does nothing.
  void tune_if_missed(const GemmProblem& problem, Placement placement) const;
  // The kernel that a call runs: the tuned one, else the best guess. Throws NotTunedError for a
  // guess with MissPolicy::refuse.
  [[nodiscard]] KernelChoice choose(const GemmProblem& problem, Placement placement) const;
  // The same with any policy: the tuned kernel, else the one with the best predicted time.
  [[nodiscard]] KernelChoice predict(const GemmProblem& problem, Placement placement) const;
  // As Library::query() with a limit of the error. Throws NotTunedError where nothing is known, as
  // of the kernels of a bundle.
  [[nodiscard]] BestConfiguration fastest_within(double max_error,
                                                 const GemmProblem& problem) const;

  // From the bundle, or as KernelImages has it.
  [[nodiscard]] std::string image(const KernelChoice& choice, const CodeTraits& traits);

 private:
  // Calls `read` with the stored results, and warns if they cannot be read.
  void read_results(const std::function<void(const ResultReader&)>& read) const;
  // The device whose results count.
  [[nodiscard]] DeviceQuery results_of() const;
  // The best of choices(), if there is any.
  [[nodiscard]] std::optional<KernelChoice> best_choice(const GemmProblem& problem,
                                                        Placement placement,
                                                        std::optional<double> max_error) const;

  DeviceInfo device_;
  SelectorSetup setup_;
  std::optional<KernelImages> images_;  // without a bundle
};

}  // namespace autotune
