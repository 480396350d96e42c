#include "gpu/module.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/cubin.hpp"
#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

// The driver takes each size as 32 bits, so larger sizes would lose their upper bits.
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

Kernel::Kernel(const Driver& driver, CUfunc_st* function, CUfunc_st* preparation)
    : driver_(&driver), function_(function), preparation_(preparation) {
  constexpr int kFirstToWait = 90;        // 10 * compute capability
  constexpr int kFirstToCapture = 12030;  // the driver from which on graphs can prepare launches
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

void Kernel::allow_dynamic_shared(const LaunchGeometry& geometry) const {
  constexpr auto kMost = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const auto allow = [&](CUfunction function, std::int64_t bytes) {
    int allowed = 0;
    driver_->check(driver_->api().cuFuncGetAttribute(&allowed, kMost, function),
                   "cuFuncGetAttribute");
    if (allowed >= bytes) return;
    driver_->check(driver_->api().cuFuncSetAttribute(function, kMost, static_cast<int>(bytes)),
                   "cuFuncSetAttribute");
  };
  allow(function_, geometry.dynamic_shared_bytes);
  if (preparation_ != nullptr) allow(preparation_, geometry.preparation.dynamic_shared_bytes);
}

void Kernel::launch(const LaunchGeometry& geometry, void** arguments, CUstream_st* stream,
                    Part part) const {
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
  if (preparation_ != nullptr && geometry.preparation.blocks > 0) {
    CUlaunchConfig first = config;
    first.gridDimX = size(geometry.preparation.blocks);
    first.blockDimX = size(geometry.preparation.threads);
    first.gridDimY = first.gridDimZ = first.blockDimY = first.blockDimZ = 1;
    first.sharedMemBytes = size(geometry.preparation.dynamic_shared_bytes);
    driver_->check(driver_->api().cuLaunchKernelEx(&first, preparation_, arguments, nullptr),
                   "cuLaunchKernelEx");
  }
  if (part == Part::preparation) return;
  driver_->check(driver_->api().cuLaunchKernelEx(&config, function_, arguments, nullptr),
                 "cuLaunchKernelEx");
}

Module::Module(const Driver& driver, const std::string& image) : driver_(driver) {
  // PTX is text. Other bytes (a fat binary, a cubin with a damaged head) have zeros among them, and
  // offsets of their own that the driver would follow.
  const bool is_text = image.find('\0') == std::string::npos;
  const std::optional<CubinInfo> cubin = read_cubin(image);
  if (looks_like_elf(image) ? !cubin : !is_text) throw Error("the compiled kernel is damaged");
  for (const CubinKernel& kernel : cubin ? cubin->kernels : std::vector<CubinKernel>()) {
    kernels_.push_back(kernel.name);
  }
  driver_.check(driver_.api().cuModuleLoadData(&module_, image.c_str()), "cuModuleLoadData");
}

Module::~Module() {
  if (module_ != nullptr) driver_.api().cuModuleUnload(module_);
}

CUfunction Module::function(const std::string& name) const {
  CUfunction function = nullptr;
  driver_.check(driver_.api().cuModuleGetFunction(&function, module_, name.c_str()),
                "cuModuleGetFunction");
  return function;
}

Kernel Module::kernel(const std::string& name) const {
  const std::string before = name + "_prepare";
  const bool has_preparation = std::count(kernels_.begin(), kernels_.end(), before) > 0;
  return {driver_, function(name), has_preparation ? function(before) : nullptr};
}

}  // namespace autotune::gpu
