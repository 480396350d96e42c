#include "core/trial.hpp"

#include <array>
#include <utility>

#include "autotune/error.hpp"

namespace autotune {
namespace {

constexpr std::array kStatusNames = {
    std::pair{TrialStatus::ok, "ok"},
    std::pair{TrialStatus::rejected_spills, "rejected_spills"},
    std::pair{TrialStatus::compile_failed, "compile_failed"},
    std::pair{TrialStatus::compile_timeout, "compile_timeout"},
    std::pair{TrialStatus::compile_crashed, "compile_crashed"},
    std::pair{TrialStatus::load_failed, "load_failed"},
    std::pair{TrialStatus::launch_failed, "launch_failed"},
    std::pair{TrialStatus::wrong_result, "wrong_result"},
    std::pair{TrialStatus::out_of_bounds, "out_of_bounds"},
    std::pair{TrialStatus::out_of_memory, "out_of_memory"},
    std::pair{TrialStatus::run_timeout, "run_timeout"},
    std::pair{TrialStatus::run_crashed, "run_crashed"},
};

}  // namespace

std::string to_string(TrialStatus status) {
  for (const auto& [value, name] : kStatusNames) {
    if (value == status) return name;
  }
  throw Error("unknown trial status " + std::to_string(static_cast<int>(status)));
}

TrialStatus trial_status_from_string(const std::string& text) {
  for (const auto& [value, name] : kStatusNames) {
    if (text == name) return value;
  }
  throw Error("unknown trial status '" + text + "'");
}

}  // namespace autotune
