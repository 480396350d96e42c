#include "features.hpp"

#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "operation/gemm/gemm.hpp"
#include "pool.hpp"
#include "select/candidate_features.hpp"
#include "select/predictor.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

std::optional<PoolEntry> entry_of(const KernelSet& kernels, const ordered_json& json) {
  const KernelTemplate* kernel = kernels.find(json.at("template").get<std::string>());
  if (kernel == nullptr || kernel->space_version != json.at("space_version").get<int>()) {
    return std::nullopt;
  }
  try {
    const std::string text = json.at("configuration").get<std::string>();
    return PoolEntry{kernel, kernel->space.validated(Configuration::parse(text))};
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void add_features(const KernelSet& kernels, ordered_json& shape,
                  const CandidateFeatures& features) {
  const DeviceInfo device = predicted_device(shape.at("device_class").get<std::string>()).info;
  GemmProblem gemm{.m = shape.at("m").get<std::int64_t>(),
                   .n = shape.at("n").get<std::int64_t>(),
                   .k = shape.at("k").get<std::int64_t>()};
  set_layout(gemm, shape.at("layout").get<std::string>());
  gemm.math = math_from_string(shape.value("math", "strict"));
  const Problem problem = gemm;
  const bool aligned = shape.at("aligned").get<bool>();
  ordered_json entries = ordered_json::array();
  for (ordered_json& json : shape.at("entries")) {
    const std::optional<PoolEntry> entry = entry_of(kernels, json);
    if (!entry) continue;
    const ModelInput candidate{
        .kernel = entry->kernel,
        .configuration = &entry->configuration,
        .gemm = &gemm,
        .problem = &problem,
        .aligned = aligned,
        .launch = tiled_launch(*entry->kernel, entry->configuration, problem, device.sm_count),
        .cycles = model_cycles(*entry, gemm, device)};
    const FeatureTable table = features.of({&candidate, 1}, device);
    std::vector<float> values;
    for (std::size_t i = 0; i < features.count(); ++i) values.push_back(table.row(i)[0]);
    json["cycles"] = candidate.cycles;
    json["features"] = values;
    entries.push_back(std::move(json));
  }
  shape["entries"] = std::move(entries);
}

}  // namespace

void write_features(const KernelSet& kernels, const std::string& trials,
                    const std::string& output) {
  std::ifstream input(trials);
  std::ofstream file(output);
  if (!input || !file) throw Error(trials + " or " + output + " cannot be opened");
  const std::vector<std::string> names = CandidateFeatures::all_names(kernels);
  const CandidateFeatures features(names, kernels);
  file << ordered_json{{"features", names}}.dump() << '\n';
  for (std::string text; std::getline(input, text);) {
    ordered_json shape = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (shape.is_discarded()) continue;  // the line during which the run was cut
    add_features(kernels, shape, features);
    file << shape.dump() << '\n';
  }
}

}  // namespace autotune
