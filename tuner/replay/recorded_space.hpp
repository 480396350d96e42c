// Search spaces whose configurations were all measured before, read from files, for replaying
// strategies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

// The configurations of one problem and their outcomes. Parameter values that are not whole numbers
// are replaced by their rank: numbers by size, texts in the order of their appearance.
struct RecordedSpace {
  // Of several of one configuration the last of this program's, the first of others'.
  struct Outcome {
    TrialStatus status = TrialStatus::ok;
    double us = 0;  // of what is ok
  };

  std::string name;                // "2048x2048x2048 gemm_simt on NVIDIA H200"; or the file's name
  std::optional<Problem> problem;  // in recordings of this program
  std::string template_name;       // empty in recordings of other programs
  const KernelTemplate* kernel = nullptr;  // of that name; none if the program does not know it
  std::string device;                      // empty in recordings of other programs
  std::vector<Configuration> configurations;
  std::vector<Outcome> outcomes;  // of the configurations, in their order
  std::size_t correct = 0;        // outcomes that are ok
  double best_us = 0;  // the fastest of them, or the least cost where the objective is not a time

  // By a parameter's name, what its ranks stand for; empty where a number stands for itself.
  std::map<std::string, std::vector<std::string>, std::less<>> ranked;
  std::vector<std::size_t> known;  // the configurations that each search tries first

  // The trial of a configuration. It has no more than strategies and Convergence look at.
  [[nodiscard]] Trial trial(std::size_t index) const;
  // What a parameter's number stands for, and the inverse, which is empty for a value that no
  // configuration has.
  [[nodiscard]] std::string text_of(std::string_view parameter, std::int64_t number) const;
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view parameter,
                                                      const std::string& text) const;
};

// The prior of a search of `space`; empty for a template or a device that this program does not
// know. Valid as long as `space`.
[[nodiscard]] Prior prior_for(const RecordedSpace& space);

// Reads T4 results, cache files and lists of results of Kernel Tuner, results of KTT and the output of `db export`,
// plain or compressed with zstd or gzip, from a file or a pipe; "-" is standard input. Throws
// UsageError that names the file when it is absent, has none of these formats or has a space
// without a correct configuration, or with a problem of which `kernels` have no operation.
// `kernels` outlive the spaces.
[[nodiscard]] std::vector<RecordedSpace> read_recorded_spaces(const std::string& path,
                                                              const KernelSet& kernels);

}  // namespace autotune
