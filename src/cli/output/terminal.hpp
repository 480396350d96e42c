// Terminals: their width, and what is said on standard error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace autotune {

// The columns of the terminal that a file descriptor stands for; nullopt where it is none.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);
// The columns of the terminal that standard output goes to; nullopt for files and pipes.
[[nodiscard]] std::optional<std::size_t> output_columns();
// Writes what was printed so far. Returns 0, or the error number of the first call that failed;
// what that call could not write is lost.
[[nodiscard]] int flush_output();
// Writes "autotune: " and the line to standard error, whether anybody can read it or not.
void say(const std::string& line);

}  // namespace autotune
