#include "gpu/driver.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

constexpr int kOldestDriver = 12000;
constexpr int kStubLibrary = 34;

// The codes are numbers, since older headers lack some of the names: contained error, illegal
// address, launch timeout, hardware stack error, illegal instruction, misaligned address, invalid
// address space, invalid PC, launch failed, tensor memory leak, MPS client terminated, external
// device.
constexpr std::array kPoisonousCodes = {226, 700, 702, 714, 715, 716, 717, 718, 719, 721, 810, 911};

// Names error codes when the driver itself cannot.
std::string plain_name(int code) {
  switch (code) {
    case 2:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case kStubLibrary:
      return "CUDA_ERROR_STUB_LIBRARY";
    case 100:
      return "CUDA_ERROR_NO_DEVICE";
    default:
      return fmt::format("CUDA error {}", code);
  }
}

SharedLibrary open_libcuda() {
  const char* chosen = ::secure_getenv("AUTOTUNE_LIBCUDA");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  std::string problem;
  std::optional<SharedLibrary> library = SharedLibrary::open(name, &problem);
  if (!library) {
    throw NoGpuError(fmt::format("no NVIDIA driver on this machine ({})", problem));
  }
  return std::move(*library);
}

}  // namespace

bool poisons_process(int code) {
  return std::find(kPoisonousCodes.begin(), kPoisonousCodes.end(), code) != kPoisonousCodes.end();
}

bool is_out_of_memory(int code) {
  return code == CUDA_ERROR_OUT_OF_MEMORY;
}

Driver::Driver() {
  auto api = std::make_unique<DriverApi>(open_libcuda());
  path_ = api->library.path();

  // Every driver exports these two functions by name; the second one finds all others.
  const auto get_version =
      api->library.function<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion");
  const auto get_address =
      api->library.function<PFN_cuGetProcAddress_v12000>("cuGetProcAddress_v2");
  const int asked = get_version != nullptr ? get_version(&cuda_version_) : -1;
  if (asked == kStubLibrary) {
    throw NoGpuError(fmt::format(
        "{} is the CUDA toolkit's stub, not a driver: remove it from the library path", path_));
  }
  if (asked != CUDA_SUCCESS) throw EnvironmentError(fmt::format("{} is no CUDA driver", path_));
  if (cuda_version_ < kOldestDriver || get_address == nullptr) {
    throw EnvironmentError(fmt::format(
        "the NVIDIA driver supports CUDA {}.{}, but 12.0 is needed: install driver 525 or newer",
        cuda_version_ / 1000, cuda_version_ % 1000 / 10));
  }
#define AUTOTUNE_LOAD(name, version, type)                                             \
  {                                                                                    \
    void* address = nullptr;                                                           \
    if (get_address(#name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != \
            CUDA_SUCCESS ||                                                            \
        address == nullptr) {                                                          \
      throw EnvironmentError(fmt::format("the NVIDIA driver {} lacks " #name, path_)); \
    }                                                                                  \
    api->name = reinterpret_cast<type>(address);                                       \
  }
  AUTOTUNE_DRIVER_FUNCTIONS(AUTOTUNE_LOAD)
#undef AUTOTUNE_LOAD
#define AUTOTUNE_LOAD_OPTIONAL(name, version, type)                                               \
  {                                                                                               \
    void* address = nullptr;                                                                      \
    const int code = get_address(#name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr); \
    if (code == CUDA_SUCCESS) api->name = reinterpret_cast<type>(address);                        \
  }
  AUTOTUNE_OPTIONAL_DRIVER_FUNCTIONS(AUTOTUNE_LOAD_OPTIONAL)
#undef AUTOTUNE_LOAD_OPTIONAL
  api_ = std::move(api);
}

Driver::~Driver() = default;

std::shared_ptr<const Driver> Driver::open() {
  std::shared_ptr<const Driver> driver(new Driver());
  const int code = driver->api_->cuInit(0);
  if (code == CUDA_ERROR_NO_DEVICE) {
    throw NoGpuError("the NVIDIA driver is here, but it sees no GPU");
  }
  if (code != CUDA_SUCCESS) {
    throw EnvironmentError("the NVIDIA driver could not be initialised: " + driver->describe(code));
  }
  return driver;
}

int Driver::device_count() const {
  int count = 0;
  check(api_->cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

void Driver::check(int code, const char* call) const {
  if (code != CUDA_SUCCESS) {
    throw DriverError(code, fmt::format("{}: {}", call, describe(code)));
  }
}

std::string Driver::describe(int code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  const auto result = static_cast<CUresult>(code);
  if (api_->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return fmt::format("{} ({})", plain_name(code), code);
  }
  if (api_->cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "";
  return fmt::format("{} ({}): {}", name, code, text);
}

}  // namespace autotune::gpu
