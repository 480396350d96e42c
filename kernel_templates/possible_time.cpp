#include "kernel_templates/possible_time.hpp"

#include "autotune/error.hpp"

namespace autotune {
namespace {

// Rates are too low where others used the device while they were measured.
constexpr double kMargin = 10;
// The factor by which tensor cores are faster than multiply-adds, at most.
constexpr double kTensorSpeed = 16;

}  // namespace

bool is_possible_us(const KernelTemplate& kernel, const Problem& problem, double us,
                    const std::optional<DeviceRates>& rates) {
  if (!(us >= kLeast_us)) return false;
  if (!rates || problem.operation() != kernel.operation->name) return true;
  try {
    // Kernels of users may do anything.
    const bool has_tensor_cores =
        kernel.tensor_products || kernel.operation->reference_source.empty();
    const double most = kMargin * (has_tensor_cores ? kTensorSpeed : 1) * rates->fma_gflops;
    return gflops(kernel.operation->work(problem), us) <= most;
  } catch (const Error&) {
    return true;  // the key names no problem of the operation, which others have to find out
  }
}

PossibleTime possible_time(const KernelSet& kernels) {
  return [&kernels](const std::string& template_name, const Problem& problem, double us,
                    const std::optional<DeviceRates>& rates) {
    const KernelTemplate* const kernel = kernels.find(template_name);
    return kernel == nullptr ? us >= kLeast_us : is_possible_us(*kernel, problem, us, rates);
  };
}

}  // namespace autotune
