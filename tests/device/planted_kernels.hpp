// Kernels with one planted fault each, to see that every one is caught. All have the common
// signature and compute C = A B plainly, one element a thread, except for the fault.
#pragma once

#include <string>

#include "autotune/problem.hpp"

#include "tuner/worker/protocol.hpp"

namespace autotune {

// The code of the kernel for its element `row`, `column` of C. `launch_number` counts launches from
// 0; `result` is the right value, stored afterwards; `skip` set to true keeps it from being stored.
struct PlantedFault {
  static constexpr const char* kNone = "";
  static constexpr const char* kWrongElement = "if (row == 3 && column == 5) result += 1;";
  static constexpr const char* kWrongLastRow = "if (row == m - 1) result = -result - 1;";
  static constexpr const char* kSlightlyWrong = "result *= 1.0f + 1e-4f;";
  static constexpr const char* kNotANumber = "if (row == 0 && column == 0) result = nanf(\"\");";
  static constexpr const char* kWritesNothing = "skip = true;";
  static constexpr const char* kWrongOnSecondRun = "if (launch_number == 1) result += 1;";
  static constexpr const char* kWrongLater = "if (launch_number >= 2) result += 1;";
  static constexpr const char* kLazyLater = "if (launch_number >= 2) skip = true;";
  static constexpr const char* kOneBeyond = "if (row + column == 0) c[m * n] = 0;";
  static constexpr const char* kOneBefore = "if (row + column == 0) c[-1] = 0;";
  static constexpr const char* kRowBeyond = "if (row == m - 1) c[m * n + column] = 0;";
  static constexpr const char* kSpoilsInput = "((float*)a)[row * k] = 3; result += 1;";
  static constexpr const char* kNullStore = "*(volatile float*)16 = 0;";
  static constexpr const char* kMisaligned = "*(volatile double*)((char*)c + 4 * (row + 1)) = 0;";
  static constexpr const char* kTrap = "asm(\"trap;\");";
  static constexpr const char* kEndless =
      "for (unsigned long long odd = 1; odd != 0; odd += 2) atomicAdd(&threads_seen, odd);";
};

// The source of a kernel named "planted"; geometry as plain_geometry() gives it.
[[nodiscard]] std::string planted_source(const std::string& fault);
[[nodiscard]] LaunchGeometry plain_geometry(const GemmProblem& problem);

}  // namespace autotune
