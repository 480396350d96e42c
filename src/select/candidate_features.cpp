#include "select/candidate_features.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kernel_templates/template_support.hpp"

namespace autotune {
namespace {

constexpr std::array<std::string_view, 17> kDerived = {
    "m",       "n",       "k",        "transposed_a", "transposed_b", "aligned",       "cycles",
    "block_m", "block_n", "block_k",  "threads",      "shared_bytes", "blocks_per_sm", "idle",
    "padding", "k_tiles", "workspace"};

float octaves(double value) {
  return static_cast<float>(std::log2(value));
}
float octaves(std::int64_t value) {
  return octaves(static_cast<double>(value));
}
float flag(bool value) {
  return value ? 1 : 0;
}

// In the order of kDerived.
std::array<float, kDerived.size()> derived_features(const ModelInput& one,
                                                    const DeviceInfo& device) {
  const GemmProblem& gemm = *one.gemm;
  const TileShape& tile = one.launch.tile;
  const LaunchGeometry& geometry = one.launch.geometry;
  const std::int64_t tiles = ceil_div(gemm.m, tile.block_m) * ceil_div(gemm.n, tile.block_n);
  const auto blocks = static_cast<double>(geometry.blocks());
  const double per_sm = blocks / device.sm_count;
  const double padded =
      static_cast<double>(tiles * tile.block_m) * static_cast<double>(tile.block_n);
  const auto results = static_cast<double>(gemm.m) * static_cast<double>(gemm.n);
  const double k_tiles = std::ceil(static_cast<double>(gemm.k) / static_cast<double>(tile.block_k));
  return {octaves(gemm.m),
          octaves(gemm.n),
          octaves(gemm.k),
          flag(gemm.op_a == Transpose::transposed),
          flag(gemm.op_b == Transpose::transposed),
          flag(one.aligned),
          octaves(one.cycles),
          octaves(tile.block_m),
          octaves(tile.block_n),
          octaves(tile.block_k),
          octaves(geometry.threads()),
          octaves(1 + one.launch.shared_bytes),
          octaves(per_sm),
          octaves(std::ceil(per_sm) / per_sm),
          octaves(padded / results),
          octaves(k_tiles * static_cast<double>(tiles) * static_cast<double>(gemm.batch) / blocks),
          flag(geometry.workspace_bytes_per_block > 0)};
}

}  // namespace

CandidateFeatures::CandidateFeatures(const std::vector<std::string>& names,
                                     const KernelSet& kernels)
    : count_(names.size()) {
  const auto place_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  for (const std::string_view name : kDerived) derived_.push_back(place_of(name));
  for (const KernelTemplate& kernel : kernels.templates()) {
    OfTemplate& places = templates_[&kernel];
    places.flag = place_of(kernel.name);
    for (const TuningParameter& parameter : kernel.space.parameters()) {
      places.parameters.push_back(place_of(parameter.name));
      all_parameters_.push_back(places.parameters.back());
    }
  }
  std::ranges::sort(all_parameters_);
  all_parameters_.erase(std::unique(all_parameters_.begin(), all_parameters_.end()),
                        all_parameters_.end());
}

std::vector<std::string> CandidateFeatures::all_names(const KernelSet& kernels) {
  std::vector<std::string> names(kDerived.begin(), kDerived.end());
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const KernelTemplate& kernel : kernels.templates()) add(kernel.name);
  for (const KernelTemplate& kernel : kernels.templates()) {
    for (const TuningParameter& parameter : kernel.space.parameters()) add(parameter.name);
  }
  return names;
}

FeatureTable CandidateFeatures::of(std::span<const ModelInput> candidates,
                                   const DeviceInfo& device) const {
  FeatureTable table(count_ + 1, candidates.size());  // the last row is for what nobody asked for
  for (const std::size_t place : all_parameters_) std::ranges::fill(table.row(place), -1.0F);
  for (std::size_t column = 0; column < candidates.size(); ++column) {
    const ModelInput& one = candidates[column];
    const auto derived = derived_features(one, device);
    for (std::size_t i = 0; i < derived.size(); ++i) table.row(derived_[i])[column] = derived[i];
    const OfTemplate& places = templates_.at(one.kernel);
    table.row(places.flag)[column] = 1;
    const std::vector<std::int64_t>& values = one.configuration->values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      table.row(places.parameters[i])[column] = static_cast<float>(values[i]);
    }
  }
  return table;
}

}  // namespace autotune
