// The command line as a function.
#pragma once

namespace autotune {

// Runs one command; returns the exit code of docs/cli.md. Never throws.
int run_program(int argc, char** argv);

}  // namespace autotune
