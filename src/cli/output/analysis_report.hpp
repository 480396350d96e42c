// The report of analyze, as JSON (docs/cli.md) and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/options/analyzed_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cpu/access_pattern.hpp"
#include "kernel_templates/analysis.hpp"

namespace autotune {

struct AnalysisReport {
  AnalyzedDevice device;
  ChosenConfiguration chosen;
  std::string layout;
  std::optional<Problem> problem;  // none: no size is given
  // The same, or one that stands for all sizes that are aligned and larger than a tile.
  Problem analyzed;
  Analysis analysis;
  std::optional<std::int64_t> spill_bytes;
  std::optional<Roofline> roofline;
  std::vector<AccessSummary> accesses;  // none: unknown
  std::vector<std::string> notes;       // say why a figure is missing
};

[[nodiscard]] nlohmann::ordered_json analysis_json(const AnalysisReport& report);
// The notes are not in it. The configuration is shown by what differs from the template's default,
// unless it is to be `wide`.
[[nodiscard]] std::string analysis_text(const AnalysisReport& report, bool wide);

}  // namespace autotune
