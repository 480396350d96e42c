// What the ending of a file's name says of the form in which it is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autotune {

// An ending, and the values of --format that it goes with: the first is meant where none is given.
struct OutputEnding {
  std::string_view ending;
  std::vector<std::string_view> formats;
};

struct OutputForm {
  std::string format;       // a value of --format
  std::string compression;  // ".gz", ".zst" or empty

  [[nodiscard]] std::string packed(std::string document) const;
};

// The form of what --output names, an empty path being standard output. `format` is what --format
// says, or empty; `usual` is meant where neither it nor the name says anything. It may be empty,
// and so may the result then be. Throws UsageError for an ending that contradicts --format, for one
// that is not known where --format is not given, and for one of a compression that is not known.
[[nodiscard]] OutputForm output_form(const std::string& path, const std::string& format,
                                     const std::string& usual,
                                     const std::vector<OutputEnding>& endings,
                                     bool can_be_packed = false);

}  // namespace autotune
