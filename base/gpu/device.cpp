#include "gpu/device.hpp"

#include <array>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "gpu/driver_api.hpp"
#include "gpu/nvml.hpp"

namespace autotune::gpu {
namespace {

// Writes a UUID as NVML and nvidia-smi do. In MIG mode the driver returns the slice's.
std::string uuid_text(const CUuuid& uuid, bool mig) {
  std::string text = mig ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// Finds "580.159.04" in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ...". It is
// the first word that looks like a release; the words before it vary.
std::string release_of_kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    const bool digits_and_dots = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits_and_dots && word.find('.') != std::string::npos) return word;
  }
  return "";
}

}  // namespace

DeviceInfo read_device(const Driver& driver, int ordinal) {
  const DriverApi& api = driver.api();
  const int count = driver.device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw EnvironmentError(
        fmt::format("there is no GPU {}: this machine has {}, counted from 0", ordinal, count));
  }
  CUdevice device = 0;
  driver.check(api.cuDeviceGet(&device, ordinal), "cuDeviceGet");

  DeviceInfo info;
  info.ordinal = ordinal;
  std::array<char, 256> name{};
  driver.check(api.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
               "cuDeviceGetName");
  info.label = name.data();
  // In MIG mode the driver puts the slice's profile into the name: "NVIDIA H200 MIG 1g.18gb".
  info.mig = info.label.find(" MIG ") != std::string::npos;
  CUuuid uuid{};
  if (api.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) info.uuid = uuid_text(uuid, info.mig);
  std::size_t memory = 0;
  driver.check(api.cuDeviceTotalMem(&memory, device), "cuDeviceTotalMem");
  info.memory_bytes = static_cast<std::int64_t>(memory);

  // An attribute that this driver does not know is 0.
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return api.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
  };
  info.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  info.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.sm = {
      .threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
      .blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
      .registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
      .shared_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
      .shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
      .shared_reserved_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
      .threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
  info.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.kernel_timeout = attribute(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT) != 0;
  info.mps = attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED) != 0;
  info.driver_version = driver.cuda_version();
  info.driver_release = release_of_kernel_module();
  if (info.driver_release.empty()) {  // a container may hide the file
    if (const auto nvml = Nvml::open(info.uuid)) info.driver_release = nvml->driver_release();
  }
  return info;
}

}  // namespace autotune::gpu
