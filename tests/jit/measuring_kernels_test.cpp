// The device code of the measuring worker through the real NVRTC: it compiles for every
// architecture, without spills, and holds the kernels that the program launches.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "core/cubin.hpp"
#include "gpu/nvrtc.hpp"
#include "operation/gemm/gemm.hpp"
#include "tuner/measure/verification_kernels.hpp"

namespace autotune {
namespace {

void compile_everywhere(const std::string& file, const std::string& source,
                        const std::vector<std::string>& macros, std::vector<std::string> expected) {
  std::shared_ptr<const gpu::Nvrtc> nvrtc;
  try {
    nvrtc = gpu::Nvrtc::open();
  } catch (const EnvironmentError& error) {
    std::printf("SKIPPED: %s\n", error.what());
    return;
  }
  std::sort(expected.begin(), expected.end());
  for (const std::string& architecture : nvrtc->architectures()) {
    CAPTURE(architecture);
    std::vector<std::string> options = {"-arch=" + architecture, "-Xptxas=-v"};
    for (const std::string& macro : macros) options.push_back("-D" + macro);
    const gpu::CompileResult result = nvrtc->compile(file, source, options);
    CAPTURE(result.log);
    REQUIRE(result.ok);
    // The log has a line for each kernel.
    for (std::size_t at = 0; (at = result.log.find("bytes spill stores", at)) != std::string::npos;
         ++at) {
      CHECK(result.log.substr(at - 3, 3) == " 0 ");
    }
    const auto cubin = read_cubin(result.image);
    REQUIRE(cubin.has_value());
    std::vector<std::string> names;
    for (const CubinKernel& kernel : cubin->kernels) names.push_back(kernel.name);
    std::sort(names.begin(), names.end());
    CHECK(names == expected);
  }
}

// Behind the code that reads and writes elements.
std::string with_elements(std::string_view source) {
  return std::string(element_source()) + std::string(source);
}

constexpr ElementType kTypes[] = {ElementType::f64, ElementType::f32, ElementType::bf16,
                                  ElementType::f16, ElementType::i32, ElementType::i8,
                                  ElementType::u8,  ElementType::i16, ElementType::u16,
                                  ElementType::i64, ElementType::u64};

TEST_SUITE("MeasuringKernels") {
  TEST_CASE("the verification kernels compile for every architecture and type of elements") {
    for (const ElementType type : kTypes) {
      CAPTURE(to_string(type));
      compile_everywhere(
          "verification.cu", check_source("verification.cu"),
          {std::string("ELEMENT=") + info(type).cuda_name},
          {"fill_integers", "fill_uniform", "fill_linear", "check_integers", "check_real"});
      compile_everywhere("tolerance.cu", check_source("tolerance.cu"),
                         {std::string("ELEMENT=") + info(type).cuda_name},
                         {"check_tolerance", "check_written", "add_up"});
    }
  }

  TEST_CASE("the references compile for every architecture and type of elements") {
    const Operation gemm = gemm_operation();
    for (const ElementType type : kTypes) {
      CAPTURE(to_string(type));
      const Problem problem(kGemm, {{"m", 64}, {"n", 64}, {"k", 64}},
                            {{"type", to_string(type)}, {"layout", "NN"}, {"math", "strict"}});
      compile_everywhere("gemm_reference.cu", with_elements(gemm.reference_source),
                         element_macros(gemm.tensors(problem)),
                         {"reference_integers", "reference_real"});
    }
  }

  TEST_CASE("the calibration kernels compile for every architecture") {
    compile_everywhere("calibration.cu", std::string(measuring_source("calibration.cu")), {},
                       {"multiply_adds", "copy"});
  }
}

}  // namespace
}  // namespace autotune
