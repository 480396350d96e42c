// What --output names.
#pragma once

#include <string>

namespace autotune {

// Writes the bytes to a file, or to standard output where the path is empty. Throws StorageError
// when the file cannot be written.
void write_output(const std::string& path, const std::string& bytes);

}  // namespace autotune
