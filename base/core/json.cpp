#include "core/json.hpp"

#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// C++ leaves the conversion of a number out of range undefined, so such a number is refused.
template <typename T>
T whole(const json& value) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<T>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
  if (value.is_number() && !fits) throw Error("a number is not whole, or is out of range");
  return value.get<T>();
}

// Reads a member if it is there. JSON text has no NaN and no infinity: they are written as null.
template <typename T>
void read(const json& object, const char* key, T& value) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (found->is_null()) {
      value = std::numeric_limits<T>::quiet_NaN();
      return;
    }
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    value = whole<T>(*found);
  } else {
    found->get_to(value);
  }
}

// Defines both functions of a type whose members have their own names in JSON.
#define AUTOTUNE_WRITE_MEMBER(member) j[#member] = value.member;
#define AUTOTUNE_READ_MEMBER(member) read(j, #member, value.member);
#define AUTOTUNE_JSON(Type, ...)                                                  \
  void to_json(json& j, const Type& value) {                                      \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(AUTOTUNE_WRITE_MEMBER, __VA_ARGS__)) \
  }                                                                               \
  void from_json(const json& j, Type& value) {                                    \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(AUTOTUNE_READ_MEMBER, __VA_ARGS__))  \
  }

}  // namespace

std::int64_t whole_number(const json& value) {
  return whole<std::int64_t>(value);
}

void to_json(json& j, const Problem& p) {
  j = p.key();
}

void from_json(const json& j, Problem& p) {
  const bool is_key = j.is_string() && !j.get_ref<const std::string&>().empty();
  p = is_key ? Problem::parse(j.get<std::string>()) : Problem();
}

void to_json(json& j, const Configuration& c) {
  j = json::object();
  for (const auto& [name, value] : c.entries()) j[name] = value;
}

void from_json(const json& j, Configuration& c) {
  std::vector<Configuration::Entry> entries;
  for (const auto& [name, value] : j.items()) entries.emplace_back(name, whole_number(value));
  c = Configuration(entries);
}

AUTOTUNE_JSON(LaunchGeometry::Preparation::Share, blocks, bytes)
AUTOTUNE_JSON(LaunchGeometry::Preparation, blocks, threads, dynamic_shared_bytes, shares)
AUTOTUNE_JSON(LaunchGeometry, grid, block, dynamic_shared_bytes, workspace_bytes_per_block,
              workspace_bytes_shared, preparation, resident_blocks_per_sm, blocks_per_cluster,
              raster, waits_for_launch_before, tensor_boxes, map_swizzle)
AUTOTUNE_JSON(Measurement, samples_us, median_us, spread_us, launches_per_sample, screened_out,
              sm_clock_mhz, throttle_reasons)
AUTOTUNE_JSON(Verification, integers_exact, max_error_ratio, error_bound, frobenius_error)
AUTOTUNE_JSON(Resources, registers, spill_bytes, stack_bytes, shared_bytes, cubin_bytes, compile_ms)
AUTOTUNE_JSON(Environment, driver, nvrtc_build, tool_version, measuring_protocol)

void to_json(json& j, const DeviceRates& r) {
  j = json{{"fma_gflops", r.fma_gflops}, {"copy_gbps", r.copy_gbps}};
}

void from_json(const json& j, DeviceRates& r) {
  j.at("fma_gflops").get_to(r.fma_gflops);
  j.at("copy_gbps").get_to(r.copy_gbps);
}

AUTOTUNE_JSON(BaselineTime, library, version, algorithm, median_us, low_us, high_us, speedup,
              speedup_low, speedup_high, measured_at)

void to_json(json& j, const Winner& w) {
  j = json{{"silicon_class", w.device_class},
           {"device_label", w.device_label},
           {"problem", w.problem},
           {"template", w.template_name},
           {"interface", w.space_version},
           {"source_hash", w.source_hash},
           {"environment", w.environment},
           {"configuration", w.configuration},
           {"median_us", w.median_us},
           {"low_us", w.low_us},
           {"high_us", w.high_us},
           {"confirmed", w.confirmed},
           {"ties", w.ties},
           {"verification", w.verification},
           {"resources", w.resources},
           {"note", w.note},
           {"measured_at", w.measured_at}};
  if (w.rates) j["rates"] = *w.rates;
  if (w.baseline) j["baseline"] = *w.baseline;
  if (!w.run.empty()) j["run"] = w.run;
}

void from_json(const json& j, Winner& w) {
  j.at("silicon_class").get_to(w.device_class);
  j.at("device_label").get_to(w.device_label);
  j.at("problem").get_to(w.problem);
  j.at("template").get_to(w.template_name);
  w.space_version = whole<int>(j.at("interface"));
  j.at("configuration").get_to(w.configuration);
  j.at("median_us").get_to(w.median_us);
  read(j, "source_hash", w.source_hash);
  read(j, "environment", w.environment);
  read(j, "low_us", w.low_us);
  read(j, "high_us", w.high_us);
  read(j, "confirmed", w.confirmed);
  read(j, "ties", w.ties);
  read(j, "verification", w.verification);
  read(j, "resources", w.resources);
  read(j, "note", w.note);
  read(j, "measured_at", w.measured_at);
  read(j, "run", w.run);
  if (j.contains("rates")) w.rates = j.at("rates").get<DeviceRates>();
  if (j.contains("baseline")) w.baseline = j.at("baseline").get<BaselineTime>();
  if (j.contains("baseline_us")) {  // as it was kept before there was more
    const auto us = j.at("baseline_us").get<double>();
    const double speedup = us / w.median_us;
    w.baseline = {"cublas", "", 0, us, us, us, speedup, speedup, speedup, w.measured_at};
  }
}

}  // namespace autotune
