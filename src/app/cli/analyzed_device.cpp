#include "cli/analyzed_device.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/size_list.hpp"
#include "cli/tuning_setup.hpp"
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
  const auto found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                  [&](const NamedLimit& limit) { return limit.name == name; });
  if (found != std::end(kLimits)) return *found;
  std::vector<std::string> names;
  for (const NamedLimit& limit : kLimits) names.emplace_back(limit.name);
  throw UsageError(fmt::format("--limit: '{}' is no limit: use {}", name, fmt::join(names, ", ")));
}

SmLimits parse_limits(const std::vector<std::string>& limits) {
  SmLimits given;
  given.threads_per_block = 0;
  for (const std::string& text : limits) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format(
          "--limit: '{}' is not NAME=VALUE, for example --limit shared_per_sm=16384", text));
    }
    const NamedLimit& limit = find_limit(text.substr(0, equals));
    const auto values = parse_integers(text.substr(equals + 1), "--limit");
    if (values.size() != 1) {
      throw UsageError(fmt::format("--limit: '{}' has more than one value", text));
    }
    given.*limit.member = values.front();
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
  throw UsageError(fmt::format("{}: '{}' is no known architecture: use {} to {} ({})", asked,
                               architecture, known.front(), known.back(), fmt::join(known, ", ")));
}

std::optional<DeviceRates> rates_of(const std::vector<Match>& winners) {
  for (const Match& match : winners) {
    if (match.winner.rates) return match.winner.rates;
  }
  return std::nullopt;
}

// From the results that are known of a device; nullopt when there are none.
std::optional<AnalyzedDevice> known_device(const DeviceQuery& query,
                                           const TuningDatabase* database) {
  const std::vector<Match> winners = list_winners(database, query);
  if (winners.empty()) return std::nullopt;
  AnalyzedDevice device;
  device.label = winners.front().winner.device_label;
  const std::string silicon = winners.front().winner.device_class;
  const DeviceClass parsed = parse_device_class(silicon);
  device.architecture = parsed.architecture;
  device.sm_count = parsed.sm_count;
  device.query = {silicon, device.label, {}};
  device.rates = rates_of(list_winners(database, device.query));
  std::set<std::string> classes;
  for (const Match& match : winners) classes.insert(match.winner.device_class);
  if (classes.size() > 1) {
    device.notes.push_back(fmt::format("{} stands for {} kinds of device; this is {}", device.label,
                                       classes.size(), silicon));
  }
  return device;
}

AnalyzedDevice present_device(const DeviceInfo& info, const TuningDatabase* database) {
  AnalyzedDevice device;
  device.label = info.label;
  device.architecture = info.architecture();
  device.sm_count = info.sm_count;
  device.query = {info.device_class(), info.label, {}};
  device.rates = rates_of(list_winners(database, device.query));
  return device;
}

bool same_label(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

AnalyzedDevice named_device(const std::string& name, const TuningDatabase* database) {
  if (name == "host") {
    throw UsageError(
        "--device: the host device has no SM: name a GPU, or an architecture, for example "
        "--arch sm_90");
  }
  const bool number =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (number) return present_device(device_for(name), database);
  if (auto known = known_device({"", name, {}}, database)) return *std::move(known);
  for (const DeviceInfo& info : inspect_driver().devices) {
    if (same_label(info.label, name)) return present_device(info, database);
  }
  std::set<std::string> labels;
  for (const Match& match : list_winners(database, {})) labels.insert(match.winner.device_label);
  throw UsageError(fmt::format(
      "--device: nothing is known of '{}' (known: {}): name its architecture, for example "
      "--arch sm_90",
      name, labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", "))));
}

AnalyzedDevice chosen_device(const std::string& architecture, const std::string& device,
                             const TuningDatabase* database) {
  AnalyzedDevice chosen;
  if (!device.empty() && device != "auto") return named_device(device, database);
  if (!architecture.empty()) {
    chosen.architecture = architecture;
    return chosen;
  }
  const DriverReport driver = inspect_driver();
  if (driver.usable && !driver.devices.empty()) {
    return present_device(driver.devices.front(), database);
  }
  chosen.notes.emplace_back(
      "no device is named (--device, --arch) and none is here: only what --limit says is known of "
      "the SM, and registers, waves and roofline are not");
  return chosen;
}

}  // namespace

AnalyzedDevice analyzed_device(const std::string& architecture, const std::string& device,
                               const std::vector<std::string>& limits,
                               const TuningDatabase* database) {
  if (!architecture.empty() && !device.empty()) {
    throw UsageError("--arch and --device exclude each other: a device has its architecture");
  }
  const SmLimits given = parse_limits(limits);
  AnalyzedDevice chosen = chosen_device(architecture, device, database);
  if (!chosen.architecture.empty()) {
    chosen.sm = limits_of(chosen.architecture, device.empty() ? "--arch" : "--device");
  }
  chosen.sm = merged(chosen.sm, given);
  return chosen;
}

}  // namespace autotune
