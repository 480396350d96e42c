#include "core/trial.hpp"

#include <string>

#include "autotune/error.hpp"

namespace autotune {
namespace {

struct StatusText {
  TrialStatus status;
  const char* name;
  const char* words;
};

constexpr StatusText kStatusTexts[] = {
    {TrialStatus::ok, "ok", "gave a correct result"},
    {TrialStatus::rejected_spills, "rejected_spills", "would spill registers"},
    {TrialStatus::compile_failed, "compile_failed", "did not compile"},
    {TrialStatus::compile_timeout, "compile_timeout", "took too long to compile"},
    {TrialStatus::compile_crashed, "compile_crashed", "crashed the compiler"},
    {TrialStatus::load_failed, "load_failed", "could not be loaded"},
    {TrialStatus::launch_failed, "launch_failed", "could not be launched, or faulted"},
    {TrialStatus::wrong_result, "wrong_result", "gave a wrong result"},
    {TrialStatus::out_of_bounds, "out_of_bounds", "wrote outside its output"},
    {TrialStatus::out_of_memory, "out_of_memory", "needed more memory than there is"},
    {TrialStatus::run_timeout, "run_timeout", "took too long to run"},
    {TrialStatus::run_crashed, "run_crashed", "crashed the measuring process"},
};

const StatusText& text_of(TrialStatus status) {
  for (const StatusText& text : kStatusTexts) {
    if (text.status == status) return text;
  }
  throw Error("unknown trial status " + std::to_string(static_cast<int>(status)));
}

}  // namespace

std::string to_string(TrialStatus status) {
  return text_of(status).name;
}

std::string in_words(TrialStatus status) {
  return text_of(status).words;
}

TrialStatus trial_status_from_string(const std::string& text) {
  for (const StatusText& known : kStatusTexts) {
    if (text == known.name) return known.status;
  }
  throw Error("unknown trial status '" + text + "'");
}

}  // namespace autotune
