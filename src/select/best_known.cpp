#include "select/best_known.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "operation/gemm/gemm.hpp"
#include "select/portfolio.hpp"

namespace autotune {
namespace {

// The class of a device that only its name tells: that of anything known of it, whatever its
// arithmetic: the newest, the user's own before shipped ones. Empty where nothing is.
std::string class_of(const TuningDatabase* database, const DeviceQuery& device) {
  const std::vector<Match> known = list_winners(database, device);
  const auto newest = std::ranges::max_element(known, {}, [](const Match& match) {
    return std::pair(!match.shipped, std::string_view(match.winner.measured_at));
  });
  return newest == known.end() ? "" : newest->winner.device_class;
}

// The predictions for a device that something is known of. Those that do not fit it are left out.
std::vector<Prediction> predictions_for(const TuningDatabase* database, const DeviceQuery& device,
                                        const std::string& device_class, const GemmProblem& problem,
                                        const KernelTemplate* kernel) {
  const std::vector<Winner> known =
      nearest_winners(database, device, problem, kKnownWinners, [](const Winner&) { return true; });
  const PredictedDevice target = predicted_device(device_class);
  std::vector<Prediction> all =
      predict({.problem = problem,
               .aligned = unpadded_traits(built_in_operations().at(kGemm), problem).aligned,
               .device = target,
               .known = known},
              shipped_portfolios(problem.math));
  std::erase_if(all, [&](const Prediction& one) {
    return (kernel != nullptr && one.kernel != kernel) ||
           !fits_device(*one.kernel, one.configuration, target.info);
  });
  return all;
}

}  // namespace

BestKnown best_known(const TuningDatabase* database, const DeviceQuery& device,
                     const GemmProblem& problem, const KernelTemplate* kernel) {
  BestKnown best{problem, find_best(database, device, problem, false, [&](const Winner& winner) {
                   return kernel == nullptr || winner.template_name == kernel->name;
                 })};
  const bool was_tuned = best.match && best.match->winner.problem == problem;
  if (was_tuned || !device.use_shipped) return best;
  std::string device_class = best.match ? best.match->winner.device_class : device.device_class;
  if (device_class.empty()) device_class = class_of(database, device);
  best.predictions = predictions_for(database, device, device_class, problem, kernel);
  return best;
}

}  // namespace autotune
