// The width of terminals.
#pragma once

#include <cstddef>
#include <optional>

namespace autotune {

// The columns of the terminal that a file descriptor stands for; nullopt where it is none.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);
// The columns of the terminal that standard output goes to; nullopt for files and pipes.
[[nodiscard]] std::optional<std::size_t> output_columns();

}  // namespace autotune
