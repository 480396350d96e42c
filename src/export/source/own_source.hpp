// A kernel of a user's own as source for nvcc: its file with the values of a configuration, and a
// function that launches it for one problem.
#pragma once

#include "export/source/source_export.hpp"

namespace autotune {

// `request.text` is not used.
[[nodiscard]] SourceFile own_source(const SourceRequest& request);

}  // namespace autotune
