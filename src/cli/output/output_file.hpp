// What --output names.
#pragma once

#include <string>

namespace autotune {

// Writes the bytes to a file, or to standard output where the path is empty. Throws StorageError
// when the file cannot be written. `what` was written ("12 trials"), as a line on standard error
// says of a file; empty: nothing is said.
void write_output(const std::string& path, const std::string& bytes, const std::string& what = "");

}  // namespace autotune
