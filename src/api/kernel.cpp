// Kernel and KernelPlan, which are what applications see of a kernel of their own.
#include "autotune/kernel.hpp"

#include <utility>

#include "autotune/autotune.hpp"
#include "autotune/error.hpp"

#include "api/own_kernel.hpp"

namespace autotune {

KernelPlan::KernelPlan(std::shared_ptr<const PlannedLaunch> planned)
    : planned_(std::move(planned)) {}

const PlannedLaunch& KernelPlan::planned() const {
  if (!planned_) throw UsageError("this KernelPlan is empty");
  return *planned_;
}

const KernelConfiguration& KernelPlan::choice() const {
  return planned().choice;
}

void KernelPlan::run(Stream stream, const LaunchArgument* arguments, std::size_t count) const {
  planned().run(stream, arguments, count);
}

Kernel::Kernel(std::shared_ptr<OwnKernel> kernel) : kernel_(std::move(kernel)) {}

OwnKernel& Kernel::inside() const {
  if (!kernel_) throw UsageError("this Kernel is empty");
  return *kernel_;
}

const std::string& Kernel::name() const {
  return inside().kernel().name;
}
const std::vector<std::string>& Kernel::sizes() const {
  return inside().described().sizes;
}

std::vector<ArgumentDescription> Kernel::arguments(const KernelSizes& sizes) const {
  return inside().arguments(sizes);
}

KernelTuningResult Kernel::tune(const std::vector<KernelSizes>& problems,
                                const TuningOptions& options) {
  return inside().tune(problems, options);
}

KernelConfiguration Kernel::query(const KernelSizes& sizes) const {
  return inside().query(sizes);
}

KernelPlan Kernel::plan(const KernelSizes& sizes) {
  return KernelPlan(inside().plan(sizes));
}

void Kernel::run(Stream stream, const LaunchArgument* arguments, std::size_t count) {
  inside().launch(inside().sizes_among(arguments, count), stream, arguments, count);
}
void Kernel::run(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
                 std::size_t count) {
  inside().launch(sizes, stream, arguments, count);
}

}  // namespace autotune
