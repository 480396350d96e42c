// T1 descriptions that are wrong: each gives one line with its place in the description, or in the
// .cu file where that is wrong.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "own_kernels/described_kernel.hpp"
#include "tests/own_kernels/t1_text.hpp"

namespace autotune::test {
namespace {

struct WrongT1 {
  std::string from;  // this part of a right description
  std::string to;
  std::string message;  // it begins so
};

std::string t1_refusal(const std::string& description, const std::string& code = kT1Code) {
  try {
    const KernelFile file = read_t1(description, code);
    const OwnKernels kernels(file, file.kernel(""));
    static_cast<void>(problem_of(*kernels.kernel().operation, {}));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

void check_t1(const std::vector<WrongT1>& all) {
  for (const WrongT1& each : all) {
    CAPTURE(each.from);
    CAPTURE(each.to);
    const std::string said = t1_refusal(changed(kT1, each.from, each.to));
    CAPTURE(said);
    CHECK(said.starts_with(each.message));
    CHECK(said.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_SUITE("a wrong T1 description") {
  TEST_CASE("is right but for what the cases below change") {
    CHECK(t1_refusal(kT1) == "accepted");
  }

  TEST_CASE("of JSON is refused with its place") {
    check_t1({{"\"Search\": {", "\"Search\" {", "t.json:11:12: expected ':' in place of '{'"},
              {"\"FormatVersion\": 1}", "\"FormatVersion\": }",
               "t.json:13:32: expected a value in place of '}'"},
              {"\"FormatVersion\": 1}", "\"FormatVersion\": 1] ",
               "t.json:13:33: expected ',' or '}' in place of ']'"},
              {"\"Random\"", "\"Random", "t.json:11:22: this text does not end"},
              {"1}\n    ],", "1}\n    },", "t.json:6:5: expected ',' or ']' in place of '}'"},
              {"{\"FormatVersion\": 1}", "{FormatVersion: 1}",
               "t.json:13:15: expected a name in quotes"},
              {"{\"FormatVersion\": 1}", "nothing",
               "t.json:13:14: expected a value in place of 'nothing'"},
              {"k.cu", "k\\q.cu", "t.json:17:19: an escape of this text"}});
    CHECK(t1_refusal("") == "t.json:1:1: the file is empty: it must have a kernel");
    CHECK(t1_refusal("{} {}").starts_with("t.json:1:4: expected the end of the file"));
    CHECK(
        t1_refusal(std::string(1000, '[')).starts_with("t.json:1:101: this is nested too deeply"));
    CHECK(t1_refusal("[1]").starts_with("t.json:1:1: KernelSpecification is missing"));
    CHECK(t1_refusal("{\"schema_version\": \"1.0.0\", \"results\": []}")
              .starts_with("t.json:1:1: KernelSpecification is missing"));
  }

  TEST_CASE("of a kernel is refused with its place") {
    check_t1(
        {{"\"CUDA\"", "\"OpenCL\"", "t.json:15:18: the Language is 'OpenCL': only kernels in CUDA"},
         {"\"KernelName\": \"add\",", "", "t.json:14:26: KernelName is missing"},
         {"\"KernelName\": \"add\"", "\"KernelName\": \"sub\"",
          "t.json:16:20: k.cu has no kernel 'sub': its kernels are other, add"},
         {"\"k.cu\"", "\"milo/k.cu.hip\"",
          "t.json:17:20: the KernelFile 'milo/k.cu.hip' is not there"},
         {"\"KernelFile\": \"k.cu\"", "\"KernelFile\": 3", "t.json:17:19: KernelFile must be"},
         {"\"GlobalSizeType\": \"CUDA\"", "\"GlobalSizeType\": \"Blocks\"",
          "t.json:20:24: the GlobalSizeType 'Blocks' is unknown"},
         {"\"GlobalSize\": {\"X\": \"(1000 + BLOCK - 1) // BLOCK\"},", "",
          "t.json:14:26: GlobalSize is missing"},
         {"\"LocalSize\": {\"X\": \"BLOCK\", \"Y\": \"1\", \"Z\": \"1\"},", "",
          "t.json:14:26: LocalSize is missing"},
         {"{\"X\": \"BLOCK\", ", "{", "t.json:22:18: X is missing"},
         {"(1000 + BLOCK - 1) // BLOCK", "(1000 + BLOCK - 1 // BLOCK",
          "t.json:21:52: expected ')' in place of the end"},
         {"(1000 + BLOCK - 1) // BLOCK", "1000) tune(A = 1",
          "t.json:21:30: nothing opens this ')'"},
         {"(1000 + BLOCK - 1) // BLOCK", "1000 // TILE",
          "t.json:21:34: the name 'TILE' is unknown: use one of BLOCK, PER"},
         {"(1000 + BLOCK - 1) // BLOCK", "1000, 2",
          "t.json:21:30: expected one expression, without a comma"},
         {"(1000 + BLOCK - 1) // BLOCK", "ProblemSize[0]",
          "t.json:21:26: ProblemSize has no value 0"},
         {"\"SharedMemory\": 16", "\"SharedMemory\": []", "t.json:19:21: expected an expression"},
         {"\"--use_fast_math\"", "\"-DX=\\\"a\\\"\"", "t.json:18:26: this text has quotes"},
         {"\"--use_fast_math\"", "4", "t.json:18:25: expected a text in quotes"}});
  }

  TEST_CASE("of parameters is refused with its place") {
    check_t1(
        {{"\"[32, 64, 128]\"", "\"\"", "t.json:4:52: this expression is empty"},
         {"\"[32, 64, 128]\"", "\"[]\"", "t.json:4:17: BLOCK has no values"},
         {"\"[32, 64, 128]\"", "\"[32, 64, 64]\"", "t.json:4:17: BLOCK has the value 64 twice"},
         {"\"[32, 64, 128]\"", "[32, 1.5]", "t.json:4:56: 1.5 is 1.5: expected a whole number"},
         {"\"[32, 64, 128]\"", "\"[32, 64\"", "t.json:4:59: expected ']' in place of the end"},
         {"\"[32, 64, 128]\"", "\"range(0)\"", "t.json:4:52: this range has no values"},
         {"\"[32, 64, 128]\"", "{}", "t.json:4:51: expected an expression in quotes, or a number"},
         {", \"Values\": \"[32, 64, 128]\"", "", "t.json:4:7: the parameter BLOCK has no Values"},
         {"\"uint\"", "\"string\"", "t.json:4:34: BLOCK has texts as values"},
         {"\"Default\": 64", "\"Default\": 63",
          "t.json:4:79: the default must be one of BLOCK's values: 32, 64, 128"},
         {"\"BLOCK\"", "\"a b\"", "t.json:4:17: a parameter has a Name"},
         {"\"Name\": \"PER\"", "\"Name\": \"BLOCK\"",
          "t.json:5:17: BLOCK is the name of a size or another parameter"},
         {"\"Expression\": \"BLOCK", "\"Text\": \"BLOCK",
          "t.json:8:7: a condition has an Expression"},
         {"BLOCK / PER !=", "BLOCK / PER != ==", "t.json:8:70: expected a value in place of '=='"},
         {"BLOCK / PER !=", "BLOCK / TILE !=", "t.json:8:63: the name 'TILE' is unknown"},
         {"BLOCK / PER != 64 or PER == 1", "PER > 3",
          "t.json:8:55: no configuration was found that meets all conditions"}});
  }

  TEST_CASE("of arguments is refused with its place") {
    const std::string n =
        R"(      {"Name": "n", "Type": "int32", "FillType": "Constant", "FillValue": 1000, "MemoryType": "Scalar"})";
    check_t1(
        {{",\n" + n, "", "t.json:23:18: 4 arguments are listed, but add has 5"},
         {"\"Type\": \"float\", \"Size\"", "\"Type\": \"double\", \"Size\"",
          "t.json:24:34: the Type is 'double', but a is float in k.cu"},
         {"\"Type\": \"int32\"", "\"Type\": \"float\"",
          "t.json:31:30: the Type is 'float', but n is a whole number in k.cu"},
         {"\"Size\": 1000, ", "", "t.json:24:7: a has no Size"},
         {"\"Size\": 1000", "\"Size\": \"BLOCK * 4\"",
          "t.json:24:51: the size of a buffer may not depend on the parameter BLOCK: use "
          "max(BLOCK)"},
         {"\"Size\": 1000", "\"Size\": 0", "k.cu:5:45: add: the buffer a has 0 elements"},
         {"\"Size\": 1000", "\"Size\": \"1000 / 3\"",
          "t.json:24:51: (1000 / 3) is 333.3333333333333: expected a whole number"},
         {"\"AccessType\": \"WriteOnly\"", "\"AccessType\": \"Write\"",
          "t.json:29:23: the AccessType 'Write' is unknown"},
         {"\"AccessType\": \"WriteOnly\"", "\"AccessType\": \"ReadOnly\"",
          "t.json:34:40: TargetName must be the Name of one of the Arguments"},
         {"\"MemoryType\": \"Vector\"", "\"MemoryType\": \"Local\"",
          "t.json:25:49: the MemoryType is 'Local', but the argument a of add must be a Vector"},
         {"\"MemoryType\": \"Vector\"", "\"MemoryType\": \"Vector\", \"MemType\": \"Constant\"",
          "t.json:25:70: a is in 'Constant' memory"},
         {"\"FillValue\": 1000, ", "", "t.json:31:7: n has no FillValue"},
         {"2 * i + 3", "i % 10", "t.json:24:96: the generator is 9 where i is 999"},
         {"2 * i + 3", "i * (i - 1) * (i - 998) * (i - 999)", "t.json:24:96: the generator is"},
         {"2 * i + 3", "2 * j", "t.json:24:100: the name 'j' is unknown: use one of i"},
         {"\"Random\", \"FillValue\"", "\"Script\", \"FillValue\"",
          "t.json:26:70: b cannot be filled by 'Script'"},
         {"\"DataSource\": \"2 * i + 3\",", "", "t.json:24:7: a has no DataSource"}});
    const std::string unwritten = changed(kT1, "\"WriteOnly\"", "\"ReadOnly\"");
    CHECK(t1_refusal(changed(unwritten, "ReferenceArguments", "Others"))
              .starts_with("k.cu:5:28: add has no output"));
  }

  TEST_CASE("of references is refused with its place") {
    check_t1({{"\"TargetName\": \"sum\"", "\"TargetName\": \"total\"",
               "t.json:34:40: TargetName must be the Name of one of"},
              {"\"TargetName\": \"sum\"", "\"TargetName\": \"first\"",
               "t.json:34:40: TargetName must be the Name of one of"},
              {"\"BinaryRaw\"", "\"Generator\"",
               "t.json:34:59: the right values of y cannot be made by 'Generator'"},
              {"\"ValidationThreshold\": 0.001", "\"ValidationThreshold\": -1",
               "t.json:35:75: a tolerance must be 0 or more"}});
  }

  TEST_CASE("of a file that is not right is refused with the place in it") {
    CHECK(t1_refusal(kT1, "") == "t.json:16:20: k.cu has no kernel 'add', and no other");
    const std::string twice = std::string(kT1Code) + "__global__ void add(float* y) {}\n";
    CHECK(t1_refusal(kT1, twice).starts_with("k.cu:9:17: add is defined twice"));
    const std::string odd =
        changed(kT1Code, "const float* b, float* y, float", "const bool* b, float* y, float");
    CHECK(t1_refusal(kT1, odd).starts_with(
        "k.cu:5:60: b has the type 'bool', which cannot be described"));
    CHECK(t1_refusal(kT1, "#include \"absent.h\"\n" + std::string(kT1Code))
              .starts_with("k.cu:1:1: 'absent.h' is not there"));
  }
}

}  // namespace autotune::test
