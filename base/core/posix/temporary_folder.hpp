// The folder for temporary files and locks.
#pragma once

#include <filesystem>
#include <system_error>

namespace autotune {

// $TMPDIR, else /tmp. An empty variable counts as one that is not set. `error` says why it is not a
// folder.
[[nodiscard]] std::filesystem::path temporary_folder(std::error_code& error);

}  // namespace autotune
