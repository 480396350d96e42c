// cuBLAS as the baseline of matrix multiplication.
#include "autotune/error.hpp"

#include "core/element_type.hpp"
#include "gpu/baseline.hpp"
#include "operation/gemm/baseline/cublas.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune::gpu {
namespace {

class CublasBaseline : public Baseline {
 public:
  CublasBaseline(const Driver& driver, const Stream& stream) : cublas_(driver, stream) {}

  const std::string& version() const override { return cublas_.version(); }

  void launch(const Problem& problem, const LaunchValues& values) override {
    if (problem.trait("type") != to_string(ElementType::f32)) {
      throw Error("cuBLAS is called for elements of FP32 alone");
    }
    const LaunchValues::Tensor& a = values.tensors[kGemmA];
    const LaunchValues::Tensor& b = values.tensors[kGemmB];
    const LaunchValues::Tensor& c = values.tensors[kGemmC];
    cublas_.sgemm(gemm_problem(problem), static_cast<float>(values.scalars[0]), a.address,
                  a.row_stride, b.address, b.row_stride, static_cast<float>(values.scalars[1]),
                  c.address, c.row_stride);
  }

 private:
  Cublas cublas_;
};

}  // namespace

const std::vector<NamedBaseline>& built_in_baselines() {
  static const auto& baselines = *new std::vector<NamedBaseline>{
      {"cublas", [](const Driver& driver, const Stream& stream) -> std::unique_ptr<Baseline> {
         return std::make_unique<CublasBaseline>(driver, stream);
       }}};
  return baselines;
}

}  // namespace autotune::gpu
