#include "cli/options/analyzed_device.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/call_watch.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/tuning_setup.hpp"
#include "db/result_filter.hpp"
#include "gpu/gpu.hpp"

namespace autotune {
namespace {

struct NamedLimit {
  const char* name;
  std::int64_t SmLimits::*member;
};

constexpr NamedLimit kLimits[] = {
    {"threads_per_sm", &SmLimits::threads_per_sm},
    {"blocks_per_sm", &SmLimits::blocks_per_sm},
    {"registers_per_sm", &SmLimits::registers_per_sm},
    {"shared_per_sm", &SmLimits::shared_per_sm},
    {"shared_per_block", &SmLimits::shared_per_block},
    {"shared_reserved_per_block", &SmLimits::shared_reserved_per_block},
    {"threads_per_block", &SmLimits::threads_per_block},
};

const NamedLimit& find_limit(const std::string& name) {
  const auto found =
      std::ranges::find_if(kLimits, [&](const NamedLimit& limit) { return limit.name == name; });
  if (found != std::end(kLimits)) return *found;
  std::vector<std::string> names;
  for (const NamedLimit& limit : kLimits) names.emplace_back(limit.name);
  throw UsageError(fmt::format("--limit: '{}' must be one of {}", name, fmt::join(names, ", ")));
}

SmLimits parse_limits(const std::vector<std::string>& limits) {
  SmLimits given;
  given.threads_per_block = 0;
  std::set<std::string> seen;
  for (const std::string& text : limits) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format(
          "--limit: {} must be NAME=VALUE, e.g. --limit shared_per_sm=16384", in_quotes(text)));
    }
    const NamedLimit& limit = find_limit(text.substr(0, equals));
    const auto value = parse_whole_number(text.substr(equals + 1));
    if (!value) {
      throw UsageError(
          fmt::format("--limit: {} must have a whole number from 1 to {}, e.g. {}=1024",
                      in_quotes(text), kMaxSize, limit.name));
    }
    if (!seen.insert(limit.name).second) {
      throw UsageError(fmt::format(
          "--limit: {0} is given twice: give it once, e.g. --limit {0}={1}", limit.name, *value));
    }
    given.*limit.member = *value;
  }
  return given;
}

SmLimits merged(SmLimits sm, const SmLimits& given) {
  if (given.shared_per_sm > 0) sm.shared_reserved_per_block = 0;
  for (const NamedLimit& limit : kLimits) {
    if (given.*limit.member > 0) sm.*limit.member = given.*limit.member;
  }
  return sm;
}

SmLimits limits_of(const std::string& architecture, const std::string& asked) {
  if (const std::optional<SmLimits> sm = sm_limits(architecture)) return *sm;
  const std::vector<std::string> known = known_architectures();
  throw UsageError(
      fmt::format("{}: the limits of '{}' are not known: it must be one from {} to {} ({})", asked,
                  architecture, known.front(), known.back(), fmt::join(known, ", ")));
}

std::optional<DeviceRates> rates_of(const std::vector<Match>& winners) {
  for (const Match& match : winners) {
    if (match.winner.rates) return match.winner.rates;
  }
  return std::nullopt;
}

// Describes a device by its known results; nullopt when there are none.
std::optional<AnalyzedDevice> known_device(const DeviceQuery& query,
                                           const TuningDatabase* database) {
  const std::vector<Match> winners = list_winners(database, query);
  if (winners.empty()) return std::nullopt;
  AnalyzedDevice device;
  device.label = winners.front().winner.device_label;
  const std::string device_class = winners.front().winner.device_class;
  const DeviceClass parsed = parse_device_class(device_class);
  device.architecture = parsed.architecture;
  device.sm = limits_of(parsed.architecture, "--device");
  device.sm_count = parsed.sm_count;
  device.query = query;
  device.query->device_class = device_class;
  device.query->label = device.label;
  device.rates = rates_of(list_winners(database, *device.query));
  std::set<std::string> classes;
  for (const Match& match : winners) classes.insert(match.winner.device_class);
  if (classes.size() > 1) {
    device.notes.push_back(fmt::format("{} stands for {} kinds of device; this is {}", device.label,
                                       classes.size(), device_class));
  }
  return device;
}

AnalyzedDevice present_device(const DeviceInfo& info, const Options& options,
                              const TuningDatabase* database) {
  AnalyzedDevice device;
  device.label = info.label;
  device.architecture = info.architecture();
  device.sm = info.sm;
  device.sm_count = info.sm_count;
  device.query = DeviceQuery{options.kernels(), info.device_class(), info.label, std::nullopt,
                             !options.no_shipped};
  device.rates = rates_of(list_winners(database, *device.query));
  return device;
}

AnalyzedDevice named_device(const Options& options, const TuningDatabase* database) {
  const std::string& name = options.device;
  if (names_cpu_device(name)) {
    throw UsageError(
        "--device: the CPU device has no SM: name a GPU, or an architecture, e.g. --arch sm_90");
  }
  if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) {
    return present_device(device_for(name), options, database);
  }
  for (const DeviceInfo& info : driver_report().devices) {
    if (same_label(info.label, name)) return present_device(info, options, database);
  }
  if (auto known = known_device(device_named(options, database), database))
    return *std::move(known);
  throw UsageError(fmt::format(
      "--device: nothing is known of '{}' (known: {}): name its architecture, e.g. --arch sm_90",
      name, known_devices(options.kernels(), database, !options.no_shipped)));
}

AnalyzedDevice chosen_device(const Options& options, const TuningDatabase* database) {
  AnalyzedDevice chosen;
  if (!options.device.empty() && options.device != "auto") return named_device(options, database);
  if (!options.architecture.empty()) {
    chosen.architecture = options.architecture;
    chosen.sm = limits_of(chosen.architecture, "--arch");
    return chosen;
  }
  const DriverReport driver = driver_report();
  if (driver.usable && !driver.devices.empty()) {
    return present_device(driver.devices.front(), options, database);
  }
  chosen.notes.emplace_back(
      "no device is named (--device, --arch) and none is here: the SM's limits are known from "
      "--limit alone, and registers, waves and roofline are unknown");
  return chosen;
}

}  // namespace

AnalyzedDevice analyzed_device(const Options& options, const std::vector<std::string>& limits,
                               const TuningDatabase* database) {
  if (!options.architecture.empty() && !options.device.empty()) {
    throw UsageError("--arch and --device exclude each other: a device has its architecture");
  }
  const SmLimits given = parse_limits(limits);
  AnalyzedDevice chosen = chosen_device(options, database);
  chosen.sm = merged(chosen.sm, given);
  return chosen;
}

}  // namespace autotune
