// An NVML that needs no GPU: devices of any UUID, with fixed figures. It never tells the load of
// the device whose UUID the environment variable FAKE_NVML_HANGS holds.
#include <cstdlib>
#include <string_view>

#include <unistd.h>

extern "C" {

using Device = void*;

static char hanging_device;

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  const char* const hanging = std::getenv("FAKE_NVML_HANGS");
  *device = hanging != nullptr && std::string_view(hanging) == uuid ? &hanging_device : nullptr;
  return 0;
}
int nvmlDeviceGetUtilizationRates(Device device, unsigned* percent) {
  while (device == &hanging_device) ::pause();
  percent[0] = percent[1] = 0;  // of the GPU, of its memory
  return 0;
}
int nvmlDeviceGetClockInfo(Device, unsigned, unsigned* megahertz) {
  *megahertz = 345;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(Device, unsigned, unsigned* megahertz) {
  *megahertz = 1980;
  return 0;
}
int nvmlDeviceGetPowerUsage(Device, unsigned* milliwatts) {
  *milliwatts = 76500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(Device, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetPersistenceMode(Device, unsigned* mode) {
  *mode = 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned* count, void*) {
  *count = 2;
  return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
}

}  // extern "C"
