// Descriptions in the T1 format for the tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "own_kernels/kernel_file.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {

// Writes a description and the .cu file that it names, k.cu, and reads the description, t.json.
inline KernelFile read_t1(const std::string& description, const std::string& code) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "k.cu", std::ios::binary) << code;
  std::ofstream(folder.path() / "t.json", std::ios::binary) << description;
  return read_kernel_file(folder.path() / "t.json");
}

inline constexpr const char* kT1Code =
    "// A prototype is no definition.\n"
    "__global__ void add(const float*, const float*, float*, float, int);\n"
    "extern \"C\" __global__ void other(int* y) { y[0] = 1; } __device__ void no() {}\n"
    "#pragma once\n"
    "extern \"C\" __global__ void add(const float* a, const float* b, float* y, float s, int n) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  if (i < n) y[i] = a[i] + s * b[i];\n"
    "}\n";

inline constexpr const char* kT1 = R"({
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "BLOCK", "Type": "uint", "Values": "[32, 64, 128]", "Default": 64},
      {"Name": "PER", "Type": "int", "Values": "[1, 2, 3]", "Default": 1}
    ],
    "Conditions": [
      {"Parameters": ["BLOCK", "PER"], "Expression": "BLOCK / PER != 64 or PER == 1"}
    ]
  },
  "Search": {"Name": "Random"},
  "Budget": [{"Type": "ConfigurationCount", "BudgetValue": 10}],
  "General": {"FormatVersion": 1},
  "KernelSpecification": {
    "Language": "CUDA",
    "KernelName": "add",
    "KernelFile": "k.cu",
    "CompilerOptions": ["--use_fast_math"],
    "SharedMemory": 16,
    "GlobalSizeType": "CUDA",
    "GlobalSize": {"X": "(1000 + BLOCK - 1) // BLOCK"},
    "LocalSize": {"X": "BLOCK", "Y": "1", "Z": "1"},
    "Arguments": [
      {"Name": "first", "Type": "float", "Size": 1000, "FillType": "Generator", "DataSource": "2 * i + 3",
       "AccessType": "ReadOnly", "MemoryType": "Vector"},
      {"Name": "second", "Type": "float", "Size": 1000, "FillType": "Random", "FillValue": 20.0,
       "AccessType": "ReadOnly", "MemoryType": "Vector"},
      {"Name": "sum", "Type": "float", "Size": 1000, "FillType": "Constant", "FillValue": 0.0,
       "AccessType": "WriteOnly", "MemoryType": "Vector"},
      {"Name": "s", "Type": "float", "FillType": "Constant", "FillValue": 1.5, "MemoryType": "Scalar"},
      {"Name": "n", "Type": "int32", "FillType": "Constant", "FillValue": 1000, "MemoryType": "Scalar"}
    ],
    "ReferenceArguments": [
      {"Name": "right", "TargetName": "sum", "FillType": "BinaryRaw", "DataSource": "right.bin",
       "ValidationMethod": "SideBySideComparison", "ValidationThreshold": 0.001}
    ]
  }
}
)";

// A text in which a part has become another one.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  if (place == std::string::npos) throw Error("the text has no " + from);
  return text.replace(place, from.size(), to);
}

}  // namespace autotune::test
