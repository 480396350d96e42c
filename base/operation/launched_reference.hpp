// A kernel that gives the results that are expected of the kernels of an operation.
#pragma once

#include <string>
#include <vector>

#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"

namespace autotune {

// It is compiled and launched as the kernels that it judges are, on the same data, and has to write
// every element of each output. It takes no workspace. A function of the host is compiled by the
// system's C++ compiler instead, and called once on copies of the data in this machine's memory.
struct LaunchedReference {
  std::string name;                  // its C symbol
  std::string source;                // CUDA C++
  std::vector<std::string> options;  // for the compiler; the target is added if none is named
  KernelSignature signature;
  LaunchGeometry geometry;
  std::string host_function = {};  // that the C symbol of this name calls; empty: it is a kernel

  [[nodiscard]] bool is_on_host() const { return !host_function.empty(); }
  // For messages.
  [[nodiscard]] const std::string& title() const { return is_on_host() ? host_function : name; }

  bool operator==(const LaunchedReference&) const = default;
};

}  // namespace autotune
