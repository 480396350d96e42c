#include "gpu/module.hpp"

#include <limits>

#include <fmt/format.h>

#include "core/cubin.hpp"
#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

// The driver takes 32 bits of each size and would cut larger ones off.
void require_launchable(const LaunchGeometry& geometry) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& sizes : {geometry.grid, geometry.block}) {
    for (const std::int64_t size : sizes) {
      if (size >= 1 && size <= kMost) continue;
      throw Error(fmt::format("a grid or block cannot have {} along one side", size));
    }
  }
}

}  // namespace

Kernel::Kernel(const Driver& driver, CUfunc_st* function) : driver_(&driver), function_(function) {
  constexpr int kFirstToWait = 90;        // 10 * compute capability
  constexpr int kFirstToCapture = 12030;  // driver in whose graphs launches may be prepared
  can_wait_ = driver.cuda_version() >= kFirstToCapture &&
              attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION) >= kFirstToWait;
}

int Kernel::attribute(int which) const {
  int value = 0;
  driver_->check(driver_->api().cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(which),
                                                   function_),
                 "cuFuncGetAttribute");
  return value;
}

void Kernel::allow_dynamic_shared(std::int64_t bytes) const {
  driver_->check(
      driver_->api().cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(bytes)),
      "cuFuncSetAttribute");
}

void Kernel::launch(const LaunchGeometry& geometry, void** arguments, CUstream_st* stream) const {
  require_launchable(geometry);
  const auto size = [](std::int64_t value) { return static_cast<unsigned>(value); };
  CUlaunchAttribute before{};
  before.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  before.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = size(geometry.grid[0]);
  config.gridDimY = size(geometry.grid[1]);
  config.gridDimZ = size(geometry.grid[2]);
  config.blockDimX = size(geometry.block[0]);
  config.blockDimY = size(geometry.block[1]);
  config.blockDimZ = size(geometry.block[2]);
  config.sharedMemBytes = size(geometry.dynamic_shared_bytes);
  config.hStream = stream;
  config.attrs = &before;
  config.numAttrs = geometry.waits_for_launch_before && can_wait_ ? 1 : 0;
  driver_->check(driver_->api().cuLaunchKernelEx(&config, function_, arguments, nullptr),
                 "cuLaunchKernelEx");
}

Module::Module(const Driver& driver, const std::string& image) : driver_(driver) {
  // PTX is text; anything else with zero bytes (a fat binary, a cubin with a damaged head) has
  // offsets of its own, which the driver would follow.
  const bool is_text = image.find('\0') == std::string::npos;
  if (looks_like_elf(image) ? !read_cubin(image) : !is_text) {
    throw Error("the compiled kernel is damaged");
  }
  driver_.check(driver_.api().cuModuleLoadData(&module_, image.c_str()), "cuModuleLoadData");
}

Module::~Module() {
  if (module_ != nullptr) driver_.api().cuModuleUnload(module_);
}

Kernel Module::kernel(const std::string& name) const {
  CUfunction function = nullptr;
  driver_.check(driver_.api().cuModuleGetFunction(&function, module_, name.c_str()),
                "cuModuleGetFunction");
  return {driver_, function};
}

}  // namespace autotune::gpu
