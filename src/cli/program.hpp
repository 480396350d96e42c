// The command line as a function.
#pragma once

#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// Runs one command; returns the exit code of docs/cli.md. Never throws.
int run_program(int argc, char** argv);
// Runs one command other than a worker's, with the kernels of a set, and returns the same. Throws
// where the other reports.
int run_command(int argc, char** argv, const KernelSet& kernels);

}  // namespace autotune
