#include "gpu/module.hpp"

#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "gpu/cubin.hpp"
#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

// Of a kernel that packs operands for the one with the name before it.
constexpr const char* kPackSuffix = "_pack";

std::set<std::string> names_in(const CubinInfo& cubin) {
  std::set<std::string> names;
  for (const CubinKernel& kernel : cubin.kernels) names.insert(kernel.name);
  return names;
}

// What stands behind each ".entry", up to its arguments.
std::set<std::string> names_in_ptx(const std::string& text) {
  constexpr std::string_view kEntry = ".entry ";
  std::set<std::string> names;
  for (std::size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    names.insert(text.substr(at, text.find_first_of("( \n", at) - at));
  }
  return names;
}

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

int Kernel::attribute(int which) const {
  int value = 0;
  driver_->check(driver_->api().cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(which),
                                                   function_),
                 "cuFuncGetAttribute");
  return value;
}

int Kernel::registers() const {
  return attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
}
std::int64_t Kernel::static_shared_bytes() const {
  return attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
}
std::int64_t Kernel::local_bytes() const {
  return attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
}
int Kernel::max_threads_per_block() const {
  return attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

int Kernel::blocks_per_sm(const LaunchGeometry& geometry) const {
  int blocks = 0;
  driver_->check(driver_->api().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                     &blocks, function_, static_cast<int>(geometry.threads()),
                     static_cast<std::size_t>(geometry.dynamic_shared_bytes)),
                 "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

void Kernel::allow_dynamic_shared(std::int64_t bytes) const {
  driver_->check(
      driver_->api().cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(bytes)),
      "cuFuncSetAttribute");
}

void Kernel::launch(const LaunchGeometry& geometry, void** arguments, CUstream_st* stream) const {
  require_launchable(geometry);
  if (geometry.packing_blocks > 0) {
    if (packing_ == nullptr) throw Error("the module has no kernel that packs operands");
    const LaunchGeometry packing{.grid = {geometry.packing_blocks, 1, 1}, .block = geometry.block};
    require_launchable(packing);
    launch(packing_, packing, arguments, stream);
  }
  launch(function_, geometry, arguments, stream);
}

void Kernel::launch(CUfunc_st* function, const LaunchGeometry& geometry, void** arguments,
                    CUstream_st* stream) const {
  const auto size = [](std::int64_t value) { return static_cast<unsigned>(value); };
  driver_->check(
      driver_->api().cuLaunchKernel(
          function, size(geometry.grid[0]), size(geometry.grid[1]), size(geometry.grid[2]),
          size(geometry.block[0]), size(geometry.block[1]), size(geometry.block[2]),
          size(geometry.dynamic_shared_bytes), stream, arguments, nullptr),
      "cuLaunchKernel");
}

Module::Module(const Driver& driver, const std::string& image) : driver_(driver) {
  // PTX is text; anything else with zero bytes (a fat binary, a cubin with a damaged head) has
  // offsets of its own, which the driver would follow.
  const bool is_text = image.find('\0') == std::string::npos;
  const std::optional<CubinInfo> cubin = read_cubin(image);
  if (looks_like_elf(image) ? !cubin : !is_text) {
    throw Error("the compiled kernel is damaged");
  }
  kernels_ = cubin ? names_in(*cubin) : names_in_ptx(image);
  driver_.check(driver_.api().cuModuleLoadData(&module_, image.c_str()), "cuModuleLoadData");
}

Module::~Module() {
  if (module_ != nullptr) driver_.api().cuModuleUnload(module_);
}

Kernel Module::kernel(const std::string& name) const {
  CUfunction function = nullptr;
  driver_.check(driver_.api().cuModuleGetFunction(&function, module_, name.c_str()),
                "cuModuleGetFunction");
  CUfunction packing = nullptr;
  if (const std::string other = name + kPackSuffix; kernels_.contains(other)) {
    driver_.check(driver_.api().cuModuleGetFunction(&packing, module_, other.c_str()),
                  "cuModuleGetFunction");
  }
  return {driver_, function, packing};
}

}  // namespace autotune::gpu
