// cuBLAS as the baseline of matrix multiplication.
#include "autotune/error.hpp"

#include "baseline/cublas.hpp"
#include "core/element_type.hpp"
#include "gpu/baseline.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune::gpu {
namespace {

class CublasBaseline : public Baseline {
 public:
  CublasBaseline(const Driver& driver, const Stream& stream) : cublas_(driver, stream) {}

  const std::string& version() const override { return cublas_.version(); }

  int algorithms(const Problem& problem, const LaunchValues& values) override {
    return cublas_.algorithms(gemm_problem(problem), values.tensors[kGemmA], values.tensors[kGemmB],
                              values.tensors[kGemmC]);
  }

  void launch(const Problem& problem, const LaunchValues& values, int algorithm) override {
    cublas_.gemm(gemm_problem(problem), static_cast<float>(values.scalars[0]),
                 values.tensors[kGemmA], values.tensors[kGemmB],
                 static_cast<float>(values.scalars[1]), values.tensors[kGemmC], algorithm);
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
