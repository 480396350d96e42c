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
// Returns whether standard error is a terminal on which a line can be written again. One that has
// no name in TERM, or the name dumb, cannot.
[[nodiscard]] bool can_rewrite_lines();
// Writes what was printed so far. Returns 0, or the error number of the first call that failed;
// what that call could not write is lost.
[[nodiscard]] int flush_output();
// Writes "autotune: " and the line to standard error, whether anybody can read it or not. On a
// terminal it takes the place of the progress, or of ^C, and its lines end between words.
void say(const std::string& line);

}  // namespace autotune
