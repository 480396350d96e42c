// What a tensor of a problem is filled with before a launch, and how near a result must come to
// what is expected, as an operation says it of each of its tensors.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/element_type.hpp"

namespace autotune {

// An element is right when |result - expected| <= absolute + relative * |expected|. If `absolute` is
// infinite, any value is right, a NaN too.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  bool operator==(const Tolerance&) const = default;
};

// The tolerance of outputs for which an operation names none.
[[nodiscard]] Tolerance default_tolerance(ElementType type);

struct TensorContent {
  enum class Kind : std::uint8_t {
    uniform,      // random, from `first` to `second`
    normal,       // random, with the mean `first` and the standard deviation `second`
    integers,     // random integers from `first` to `second`, both included
    linear,       // evenly spaced: the first element is `first`, the last one is `second`
    constant,     // `first`
    permutation,  // the numbers from 0 on, each once, in a random order
    file,         // a .npy file with as many elements of its type, or another one of bare elements
  };
  static constexpr Kind kLastKind = Kind::file;

  // An input or an inout has this data. An output is poisoned.
  Kind kind = Kind::uniform;
  double first = -1;
  double second = 1;
  std::string file = {};

  // An output or an inout may have a file of the expected values, in place of those that the
  // reference gives, and a tolerance other than the default one. Integers must be equal unless it
  // is infinite.
  std::string expected = {};
  std::optional<Tolerance> tolerance = {};
  // The .npy file that gets the elements which a verified launch leaves. Empty: none.
  std::string results = {};

  // Returns whether some values would be wrong.
  [[nodiscard]] bool is_checked() const { return !tolerance || std::isfinite(tolerance->absolute); }

  bool operator==(const TensorContent&) const = default;
};

}  // namespace autotune
