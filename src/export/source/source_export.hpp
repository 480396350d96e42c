// A kernel for one problem as source of its own: C++ that nvcc compiles, and that neither autotune
// nor the driver's library is linked to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// What an operation's source says of a problem and checks it with.
struct OperationText {
  std::string formula;               // "C = alpha * A * B + beta * C"
  std::string note;                  // more that callers need to know; may be empty
  std::vector<std::string> scalars;  // their names, in the order of Operation::scalars
  std::string batch;                 // the size that counts products; empty unless it is a batch
  // The body of a C++ function that returns the result at (row, column) of the output in FP64, and
  // the magnitude that its rounding errors are relative to, as {value, magnitude}. It sees sizes
  // and scalars by their names, and each tensor <name> as it was before the call, with its row
  // stride ld<name>; of a batch, the matrices of one product.
  std::string reference;
};

struct SourceRequest {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
  Problem problem;
  std::string architecture;  // "sm_90"
  std::string origin;        // why this configuration, in a few words
  OperationText text;
};

struct SourceFile {
  std::string name;
  std::string text;
};

// The first words of every file.
inline constexpr std::string_view kSourceMark = "// Written by autotune ";

// The function that multiplies, and the stem of the files' names: "gemm_64x64x512_f32_nn_strict".
[[nodiscard]] std::string source_name(const Problem& problem);

// nvcc's options for the kernel: with those of autotune's own compiler that matter.
[[nodiscard]] std::vector<std::string> nvcc_options(const SourceRequest& request);

// The command that compiles the test program of the files.
[[nodiscard]] std::string nvcc_test_command(const SourceRequest& request);

// <name>.h; <name>.cu, which checks and launches; <name>_kernel.cuh, which it includes; and
// <name>_test.cpp, a program. Throws UsageError for element types that C++ lacks, and for a launch
// that is too large.
[[nodiscard]] std::vector<SourceFile> stand_alone_source(const SourceRequest& request);

}  // namespace autotune
