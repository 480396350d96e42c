// The program's exit codes, as in docs/cli.md.
#pragma once

namespace autotune::exit_code {

inline constexpr int kDone = 0;
inline constexpr int kInternal = 1;     // or standard output could not be written
inline constexpr int kUsage = 2;        // wrong usage that shows without asking a device
inline constexpr int kEnvironment = 3;  // device, driver, compiler absent, or problem too large
inline constexpr int kNothingStored = 4;
inline constexpr int kNoneCorrect = 5;  // finished, but some size has no correct configuration
inline constexpr int kNotStored = 6;    // finished, but the results could not be stored
inline constexpr int kSlower = 7;       // bench: below the speed-up of --fail-below
inline constexpr int kInterrupted = 130;

}  // namespace autotune::exit_code
