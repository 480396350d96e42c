#include "cli/options/target.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/device_choice.hpp"
#include "cli/call_watch.hpp"
#include "cli/options/tuning_setup.hpp"
#include "gpu/gpu.hpp"

namespace autotune {

Target choose_target(const Options& options, const TuningDatabase* database) {
  Target target{device_named(options, database), options.architecture};
  const bool is_known = !options.configuration.empty() && !target.architecture.empty();
  if (!options.device.empty() && !target.architecture.empty() &&
      !list_winners(database, target.query).empty()) {
    throw UsageError("--arch and --device exclude each other: a known device has its architecture");
  }
  if (!options.device.empty() || is_known) return target;
  if (target.architecture.empty()) {
    target.query = device_query(options, database);
    target.architecture = parse_device_class(target.query.device_class).architecture;
    return target;
  }
  // Results of one architecture do not hold for another. A machine without a GPU of it is nothing
  // to warn of, since nothing is timed.
  const DeviceInfo here = watched(kDriver, [] { return choose_device("auto"); }).device;
  const bool is_here = here.architecture() == target.architecture;
  target.query = {options.kernels(), is_here ? here.device_class() : target.architecture,
                  is_here ? here.label : "", std::nullopt, !options.no_shipped};
  return target;
}

std::string architecture_of(const Target& target, const TuningDatabase* database) {
  if (!target.architecture.empty()) return target.architecture;
  const std::vector<Match> known = list_winners(database, target.query);
  if (!known.empty()) return parse_device_class(known.front().winner.device_class).architecture;
  throw UsageError(
      "--device: nothing is known of this device: name its architecture, e.g. "
      "--arch sm_90");
}

UsageError unknown_architecture(const std::string& architecture) {
  return UsageError(fmt::format("--arch: {} is not known, e.g. sm_90", architecture));
}

void check_known(const std::string& architecture) {
  if (sm_limits(architecture)) return;
  const std::vector<std::string> compiled = watched(kCompiler, inspect_nvrtc).architectures;
  if (std::ranges::find(compiled, architecture) != compiled.end()) return;
  throw unknown_architecture(architecture);
}

std::shared_ptr<const gpu::Nvrtc> compiler_for(const std::string& architecture) {
  auto nvrtc = watched(kCompiler, gpu::Nvrtc::open);
  const std::vector<std::string>& known = nvrtc->architectures();
  if (std::ranges::count(known, architecture) > 0) return nvrtc;
  throw EnvironmentError(fmt::format("--arch: NVRTC {} does not compile for {}, only for {}",
                                     nvrtc->build(), architecture, fmt::join(known, " ")));
}

std::optional<DeviceInfo> device_of_architecture(const std::string& architecture) {
  const std::optional<SmLimits> limits = sm_limits(architecture);
  if (!limits) return std::nullopt;
  const int capability = std::stoi(architecture.substr(3));
  DeviceInfo device;
  device.label = architecture;
  device.compute_major = capability / 10;
  device.compute_minor = capability % 10;
  device.sm = *limits;
  device.shared_per_block = limits->shared_per_block;
  return device;
}

}  // namespace autotune
