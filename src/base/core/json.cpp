#include "core/json.hpp"

#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

namespace autotune {
namespace {

using nlohmann::json;

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
  found->get_to(value);
}

}  // namespace

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
  for (const auto& [name, value] : j.items()) entries.emplace_back(name, value.get<std::int64_t>());
  c = Configuration(entries);
}

void to_json(json& j, const LaunchGeometry& g) {
  j = json{{"grid", g.grid},
           {"block", g.block},
           {"dynamic_shared_bytes", g.dynamic_shared_bytes},
           {"scratch_bytes_per_block", g.workspace_bytes_per_block},
           {"resident_blocks_per_sm", g.resident_blocks_per_sm},
           {"raster", g.raster},
           {"waits_for_launch_before", g.waits_for_launch_before},
           {"tensor_boxes", g.tensor_boxes}};
}

void from_json(const json& j, LaunchGeometry& g) {
  j.at("grid").get_to(g.grid);
  j.at("block").get_to(g.block);
  read(j, "dynamic_shared_bytes", g.dynamic_shared_bytes);
  read(j, "scratch_bytes_per_block", g.workspace_bytes_per_block);
  read(j, "resident_blocks_per_sm", g.resident_blocks_per_sm);
  read(j, "raster", g.raster);
  read(j, "waits_for_launch_before", g.waits_for_launch_before);
  read(j, "tensor_boxes", g.tensor_boxes);
}

void to_json(json& j, const Measurement& m) {
  j = json{{"samples_us", m.samples_us},
           {"median_us", m.median_us},
           {"spread_us", m.spread_us},
           {"launches_per_sample", m.launches_per_sample},
           {"screened_out", m.screened_out},
           {"sm_clock_mhz", m.sm_clock_mhz},
           {"throttle_reasons", m.throttle_reasons}};
}

void from_json(const json& j, Measurement& m) {
  read(j, "samples_us", m.samples_us);
  read(j, "median_us", m.median_us);
  read(j, "spread_us", m.spread_us);
  read(j, "launches_per_sample", m.launches_per_sample);
  read(j, "screened_out", m.screened_out);
  read(j, "sm_clock_mhz", m.sm_clock_mhz);
  read(j, "throttle_reasons", m.throttle_reasons);
}

void to_json(json& j, const Verification& v) {
  j = json{{"integers_exact", v.integers_exact},
           {"max_error_ratio", v.max_error_ratio},
           {"error_bound", v.error_bound},
           {"frobenius_error", v.frobenius_error}};
}

void from_json(const json& j, Verification& v) {
  read(j, "integers_exact", v.integers_exact);
  read(j, "max_error_ratio", v.max_error_ratio);
  read(j, "error_bound", v.error_bound);
  read(j, "frobenius_error", v.frobenius_error);
}

void to_json(json& j, const Resources& r) {
  j = json{{"registers", r.registers},     {"spill_bytes", r.spill_bytes},
           {"stack_bytes", r.stack_bytes}, {"shared_bytes", r.shared_bytes},
           {"cubin_bytes", r.cubin_bytes}, {"compile_ms", r.compile_ms}};
}

void from_json(const json& j, Resources& r) {
  read(j, "registers", r.registers);
  read(j, "spill_bytes", r.spill_bytes);
  read(j, "stack_bytes", r.stack_bytes);
  read(j, "shared_bytes", r.shared_bytes);
  read(j, "cubin_bytes", r.cubin_bytes);
  read(j, "compile_ms", r.compile_ms);
}

void to_json(json& j, const Environment& e) {
  j = json{{"driver", e.driver},
           {"nvrtc_build", e.nvrtc_build},
           {"tool_version", e.tool_version},
           {"measuring_protocol", e.measuring_protocol}};
}

void from_json(const json& j, Environment& e) {
  read(j, "driver", e.driver);
  read(j, "nvrtc_build", e.nvrtc_build);
  read(j, "tool_version", e.tool_version);
  read(j, "measuring_protocol", e.measuring_protocol);
}

void to_json(json& j, const DeviceRates& r) {
  j = json{{"fma_gflops", r.fma_gflops}, {"copy_gbps", r.copy_gbps}};
}

void from_json(const json& j, DeviceRates& r) {
  j.at("fma_gflops").get_to(r.fma_gflops);
  j.at("copy_gbps").get_to(r.copy_gbps);
}

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
}

void from_json(const json& j, Winner& w) {
  j.at("silicon_class").get_to(w.device_class);
  j.at("device_label").get_to(w.device_label);
  j.at("problem").get_to(w.problem);
  j.at("template").get_to(w.template_name);
  j.at("interface").get_to(w.space_version);
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
  if (j.contains("rates")) w.rates = j.at("rates").get<DeviceRates>();
}

}  // namespace autotune
