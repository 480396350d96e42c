// Descriptions in the T1 format: what they say of a kernel, also where they are untidy.
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "own_kernels/described_kernel.hpp"
#include "own_kernels/described_launch.hpp"
#include "tests/own_kernels/t1_text.hpp"

namespace autotune::test {
namespace {

DescribedKernel kernel_of(const std::string& description, const std::string& code = kT1Code) {
  return read_t1(description, code).kernel("");
}

Problem problem_of(const DescribedKernel& kernel) {
  return {kernel.key, {}, {}};
}

std::array<std::int64_t, 3> grid_of(const DescribedKernel& kernel,
                                    const std::string& configuration) {
  return geometry_of(kernel, Configuration::parse(configuration), problem_of(kernel)).grid;
}

using Values = std::vector<std::int64_t>;
using Grid = std::array<std::int64_t, 3>;

// The kernel with another last argument, which the description has as `json`.
DescribedKernel with_argument(const std::string& json, const std::string& declared) {
  const std::string n =
      R"("Name": "n", "Type": "int32", "FillType": "Constant", "FillValue": 1000, "MemoryType": "Scalar")";
  return kernel_of(changed(kT1, n, json),
                   changed(kT1Code, "float s, int n) {", "float s, " + declared + ") {"));
}

}  // namespace

TEST_SUITE("a T1 description") {
  TEST_CASE("describes a kernel as pragmas do") {
    const DescribedKernel kernel = kernel_of(kT1);
    CHECK(kernel.name == "add");
    CHECK(kernel.sizes.empty());
    REQUIRE(kernel.parameters.size() == 2);
    CHECK(kernel.parameters[0].values == Values{32, 64, 128});
    CHECK(kernel.defaults == Values{64, 1});
    REQUIRE(kernel.restrictions.size() == 1);
    const Expression& holds = kernel.restrictions[0].holds;
    CHECK(holds.source() == "BLOCK / PER != 64 or PER == 1");
    CHECK_FALSE(holds.truth(Values{128, 2}));
    CHECK(holds.truth(Values{64, 1}));
    CHECK(holds.truth(Values{32, 3}));

    const Problem problem = problem_of(kernel);
    const LaunchGeometry launch =
        geometry_of(kernel, Configuration::parse("BLOCK=64,PER=1"), problem);
    CHECK(launch.grid == Grid{16, 1, 1});
    CHECK(launch.block == Grid{64, 1, 1});
    CHECK(launch.dynamic_shared_bytes == 16);
    REQUIRE(kernel.compiler_options.size() == 1);
    CHECK(kernel.compiler_options[0].text == "--use_fast_math");

    const std::vector<TensorDesc> tensors = tensors_of(kernel, problem);
    REQUIRE(tensors.size() == 3);
    CHECK(tensors[0].name == "a");
    CHECK(tensors[0].elements() == 1000);
    CHECK(tensors[0].role == TensorRole::input);
    CHECK(tensors[2].role == TensorRole::output);
    const std::vector<TensorContent> contents = contents_of(kernel, problem);
    CHECK(contents[0].kind == TensorContent::Kind::linear);
    CHECK(contents[0].first == 3);
    CHECK(contents[0].second == 2001);
    CHECK(contents[1].kind == TensorContent::Kind::uniform);
    CHECK(contents[1].first == 0);
    CHECK(contents[1].second == 20);
    CHECK(contents[2].expected.ends_with("/right.bin"));
    CHECK(contents[2].tolerance == Tolerance{0.001, 0});
    CHECK(kernel.arguments[3].value->number({}) == 1.5);
    CHECK(numbers_of(kernel, problem) == Values{1000});
    check_problem(kernel, problem);
  }

  TEST_CASE("is part of the code that results are stored for, as comments") {
    const std::string code = kernel_of(kT1).code;
    CHECK(code.find("\n//pragma kernel tune(BLOCK = [32, 64, 128])\n") != std::string::npos);
    CHECK(code.find("\n#pragma kernel") == std::string::npos);
    CHECK(kernel_of(changed(kT1, "BudgetValue\": 10", "BudgetValue\": 20")).code == code);
    CHECK(kernel_of(changed(kT1, "FillValue\": 20.0", "FillValue\": 30.0")).code != code);
  }

  TEST_CASE("is Python where it is an expression") {
    // 7 / 2 is 3.5, and the kernel's pragmas would have 3.
    const DescribedKernel kernel = kernel_of(
        changed(kT1, "BLOCK / PER != 64 or PER == 1", "(PER + 6) / 2 > 3.4 and PER in [1, 2]"));
    CHECK(kernel.restrictions[0].holds.truth(Values{32, 1}));
    CHECK_FALSE(kernel.restrictions[0].holds.truth(Values{32, 3}));
    const auto values = [](const std::string& text) {
      return kernel_of(changed(changed(kT1, "\"[1, 2, 3]\"", text), ", \"Default\": 1}", "}"))
          .parameters[1]
          .values;
    };
    CHECK(values("\"list(range(1, 4))\"") == Values{1, 2, 3});
    CHECK(values("\"[1] + [2*i for i in range(1, 4)]\"") == Values{1, 2, 4, 6});
    CHECK(values("\"[2**i for i in range(3)]\"") == Values{1, 2, 4});
    CHECK(values("[1, 2, 4]") == Values{1, 2, 4});
    CHECK(values("[\"1\", \"2\"]") == Values{1, 2});
    CHECK(values("\"1, 5\"") == Values{1, 5});
    CHECK(values("3") == Values{3});
    CHECK(values("[true]") == Values{1});
  }

  TEST_CASE("may be untidy JSON") {
    std::string text =
        changed(kT1, "\"Default\": 1}\n    ],", "\"Default\": '1', },\n    ], // tuned");
    text = changed(text, "\"Search\": {\"Name\": \"Random\"}", "\"Search\": None");
    text = changed(text, "\"SharedMemory\": 16", "\"SharedMemory\": null, \"Stream\": null");
    text = changed(text, "\"Size\": 1000", "\"Size\": \"1000\"");
    text = changed(text, "\"FillValue\": 1.5", "\"FillValue\": \"1.5\"");
    text =
        changed(text, "\"CompilerOptions\": [\"--use_fast_math\"]", "\"CompilerOptions\": [\"\"]");
    const DescribedKernel kernel = kernel_of(text);
    CHECK(kernel.defaults == Values{64, 1});
    CHECK(kernel.compiler_options.empty());
    CHECK_FALSE(kernel.shared_bytes);
    CHECK(tensors_of(kernel, problem_of(kernel))[0].elements() == 1000);
    CHECK(kernel.arguments[3].value->number({}) == 1.5);
  }

  TEST_CASE("may have the names of older files, in any case, and lack what is optional") {
    const std::string description = R"({
      "configurationSpace": {"TuningParameters": [{"Name": "BLOCK", "Values": [32, 64]}], "constraints": []},
      "kernelSpecification": {
        "language": "cuda", "kernelName": "add", "kernelFile": "k.cu", "sharedMemory": null,
        "blockSize": {"X": "BLOCK", "Y": 1, "Z": 1}, "gridSize": {"X": "1024//BLOCK", "Y": 1, "Z": 1},
        "arguments": [
          {"Name": "a", "Type": "float", "length": 1000, "memoryType": "Vector", "fillType": "random"},
          {"Name": "b", "Type": "float", "length": 1000, "fillType": "uninitialized"},
          {"Name": "y", "length": 1000, "accessType": "ReadWrite", "value": 4},
          {"Name": "s", "value": 16.0}, {"Name": "n", "Type": "int", "value": 1000}]}})";
    const DescribedKernel kernel = kernel_of(description);
    CHECK(grid_of(kernel, "BLOCK=64") == Grid{16, 1, 1});
    const std::vector<TensorContent> contents = contents_of(kernel, problem_of(kernel));
    CHECK(contents[0].second == 1);
    CHECK(kernel.arguments[2].role == TensorRole::inout);
    CHECK(contents[2].kind == TensorContent::Kind::constant);
    CHECK(contents[2].first == 4);
  }

  TEST_CASE("counts a grid in blocks or in threads, or by a problem and divisors") {
    CHECK(
        grid_of(kernel_of(changed(
                    kT1, "\"CUDA\",\n    \"GlobalSize\": {\"X\": \"(1000 + BLOCK - 1) // BLOCK\"}",
                    "\"OpenCL\",\n    \"GlobalSize\": {\"X\": \"1000 // PER\"}")),
                "BLOCK=32,PER=2") == Grid{16, 1, 1});
    const std::string divided = changed(changed(kT1, "\"SharedMemory\": 16",
                                                "\"ProblemSize\": [\"4096\", 64], \"GridDivX\": "
                                                "[\"BLOCK\", \"PER\"], \"GridDivY\": []"),
                                        "\"Y\": \"1\", ", "\"Y\": \"2\", ");
    CHECK(grid_of(kernel_of(divided), "BLOCK=32,PER=3") == Grid{43, 32, 1});
    const std::string named = changed(
        changed(
            changed(
                changed(changed(kT1, "\"BLOCK\"", "\"block_size_x\""), "BLOCK /", "block_size_x /"),
                "\"LocalSize\": {\"X\": \"BLOCK\", \"Y\": \"1\", \"Z\": \"1\"},", ""),
            "\"GlobalSize\": {\"X\": \"(1000 + BLOCK - 1) // BLOCK\"}", "\"ProblemSize\": 1000"),
        "[\"BLOCK\", \"PER\"]", "[]");
    const DescribedKernel kernel = kernel_of(named, kT1Code);
    CHECK(grid_of(kernel, "block_size_x=32,PER=1") == Grid{32, 1, 1});
  }

  TEST_CASE("may give sizes of buffers by its problem and its parameters") {
    const std::string text =
        changed(changed(kT1, "\"SharedMemory\": 16", "\"ProblemSize\": [100, 7]"), "\"Size\": 1000",
                "\"Size\": \"(ProblemSize[0] + max(PER) - 1) * (ProblemSize[1] + min(BLOCK))\"");
    const DescribedKernel kernel = kernel_of(text);
    CHECK(tensors_of(kernel, problem_of(kernel))[0].elements() == 102 * 39);
  }

  TEST_CASE("may count the numbers of a vector type one by one") {
    const auto elements = [](const std::string& json, const std::string& type) {
      const DescribedKernel kernel = with_argument(
          "\"Name\": \"v\", \"FillType\": \"Random\", \"AccessType\": \"ReadOnly\", " + json,
          "const " + type + "* v");
      return tensors_of(kernel, problem_of(kernel))[3].elements();
    };
    CHECK(elements(R"("Type": "float", "Size": 64)", "float4") == 64);
    CHECK(elements(R"("Type": "float4", "Size": 64)", "float4") == 256);
    CHECK(elements(R"("Type": "float", "VectorType": 2, "Size": 64)", "float2") == 128);
    CHECK(elements(R"("Type": "float4", "Size": 64)", "float") == 256);
    CHECK(elements(R"("Type": "custom", "TypeSize": 16, "Size": 64)", "float4") == 256);
    CHECK(elements(R"("Type": "uint32", "Size": 64)", "int") == 64);
  }

  TEST_CASE("fills integers with integers, and a generator's sums by even steps") {
    const auto content = [](const std::string& json) {
      const DescribedKernel kernel = with_argument(
          "\"Name\": \"v\", \"Type\": \"int32\", \"Size\": 50, " + json, "const int* v");
      return contents_of(kernel, problem_of(kernel))[3];
    };
    const TensorContent random = content(R"("FillType": "Random", "FillValue": 9)");
    CHECK(random.kind == TensorContent::Kind::integers);
    CHECK(random.first == 0);
    CHECK(random.second == 9);
    const TensorContent negative = content(R"("FillType": "Random", "FillValue": -9)");
    CHECK(negative.first == -9);
    CHECK(negative.second == 0);
    const TensorContent steps = content(R"("FillType": "Generator", "DataSource": "100 - 2 * i")");
    CHECK(steps.first == 100);
    CHECK(steps.second == 2);
    const TensorContent same = content(R"("FillType": "Generator", "DataSource": "5")");
    CHECK(same.kind == TensorContent::Kind::constant);
    CHECK(same.first == 5);
    const TensorContent file = content(R"("FillType": "BinaryRaw", "DataSource": "in.bin")");
    CHECK(file.kind == TensorContent::Kind::file);
    CHECK(file.file.ends_with("/in.bin"));
  }

  TEST_CASE("that has no valid default gets the first valid configuration") {
    std::string text = changed(changed(kT1, ", \"Default\": 64", ""), ", \"Default\": 1", "");
    text = changed(text, "BLOCK / PER != 64 or PER == 1", "BLOCK >= 64 and BLOCK * PER == 384");
    CHECK(kernel_of(text).defaults == Values{128, 3});
    const KernelFile file = read_t1(text, kT1Code);
    CHECK_NOTHROW(OwnKernels(file, file.kernel("")));
  }

  TEST_CASE("may name the types of a template") {
    const DescribedKernel kernel = kernel_of(
        changed(kT1, "\"KernelFile\"", "\"KernelTypeNames\": [\"float\"], \"KernelFile\""),
        "template <typename T> __global__ void add(const T* a, const T* b, T* y, float s, int n) "
        "{}\n");
    CHECK(kernel.template_values.at("T") == "float");
    CHECK(kernel.arguments[0].type == ElementType::f32);
  }
}

}  // namespace autotune::test
