#include "autotune/match_kind.hpp"

#include "autotune/error.hpp"

namespace autotune {

std::string to_string(MatchKind kind) {
  switch (kind) {
    case MatchKind::exact:
      return "exact";
    case MatchKind::exact_stale:
      return "exact, stale";
    case MatchKind::nearest_size:
      return "nearest size";
    case MatchKind::predicted:
      return "predicted";
  }
  throw Error("unknown match kind");
}

}  // namespace autotune
