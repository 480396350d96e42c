// The places of files that the user names no other place for: the XDG folders.
#pragma once

#include <filesystem>
#include <optional>

namespace autotune {

// $AUTOTUNE_DB; nullopt where it is not set. Its folder is not made: a mistyped path would else
// become a new folder.
[[nodiscard]] std::optional<std::filesystem::path> database_of_environment();

// Returns whether the folder of a file does not exist. Where it cannot be looked at, opening the
// file says why.
[[nodiscard]] bool lacks_folder(const std::filesystem::path& file);

// Throws StorageError if the folder of a file that $AUTOTUNE_DB names does not exist.
void check_folder_of_environment(const std::filesystem::path& file);

// $AUTOTUNE_DB, else $XDG_DATA_HOME/autotune/autotune.db, else ~/.local/share/autotune/autotune.db.
// Throws StorageError when neither is set and there is no home directory.
[[nodiscard]] std::filesystem::path default_database_path();

// $XDG_CACHE_HOME/autotune/cubins.db, else ~/.cache/autotune/cubins.db. nullopt without a home.
[[nodiscard]] std::optional<std::filesystem::path> default_cubin_store_path();

}  // namespace autotune
