// A kernel of the user's own, which options ask for: --kernel, --size and --include-folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "core/problem.hpp"
#include "own_kernels/described_kernel.hpp"

namespace autotune {

// The kernel that a command line names, "--kernel FILE", "--kernel FILE:NAME" for one of several,
// "--kernel FILE:NAME<float,4>" with template arguments, or "--kernel FILE.json"; nullopt where it
// names none. Throws UsageError for a file that cannot be read or has a wrong description.
[[nodiscard]] std::optional<OwnKernels> named_kernel(const std::vector<std::string>& arguments);

// Returns whether the kernels are a user's own, whose problems are made of named sizes.
[[nodiscard]] bool have_named_sizes(const KernelSet& kernels);

// "n=1024,m=64" as a problem of the set's operation. Throws UsageError.
[[nodiscard]] Problem parse_named_sizes(const std::string& text, const KernelSet& kernels);

// Makes the option required that says of which sizes problems are: --sizes or --size. A kernel
// without sizes has one problem, which is chosen. Throws UsageError where it cannot be launched.
void require_sizes(CLI::App& command, Options& options);

}  // namespace autotune
