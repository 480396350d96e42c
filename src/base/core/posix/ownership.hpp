// These functions tell which other users of the machine can change a file or a folder.
#pragma once

#include <filesystem>

#include <sys/stat.h>

namespace autotune {

// Returns whether the mode of a file or folder lets users besides its owner write to it. A group
// with the number of this user counts as the user, because useradd makes one for each user.
[[nodiscard]] bool others_may_write(const struct stat& found);

// Returns whether a file or folder belongs to neither this user nor the system.
[[nodiscard]] bool is_foreign(const struct stat& found);

// Returns whether another user may have put a file or folder where it is: it is foreign, and other
// users may make files in its folder.
[[nodiscard]] bool may_be_planted(const std::filesystem::path& path);

// Returns the first folder, from `folder` upwards, in which other users can replace this user's
// files; the result is empty if there is none. A folder may let everybody make files in it, as /tmp
// does, if it is sticky, because nobody can then replace the files of others. Folders need not
// exist.
[[nodiscard]] std::filesystem::path folder_of_others(const std::filesystem::path& folder);

}  // namespace autotune
