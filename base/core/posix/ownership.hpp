// These functions tell which other users of the machine can change a file or a folder.
#pragma once

#include <filesystem>
#include <vector>

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

// Returns the folders and links by which the system finds a path, itself included, from the root
// on; for a link also the way to what it names. What does not exist is left out.
[[nodiscard]] std::vector<std::filesystem::path> way_to(const std::filesystem::path& path);

// Returns whether other users can replace files of this user in a folder. They cannot if it lets
// everybody make files in it, as /tmp does, but is sticky. A link is no folder.
[[nodiscard]] bool is_shared(const std::filesystem::path& folder);

// Returns the first folder or link on the way to `folder` with which other users can replace this
// user's files; the result is empty if there is none.
[[nodiscard]] std::filesystem::path folder_of_others(const std::filesystem::path& folder);

}  // namespace autotune
