// An NVML that needs no GPU: one device of any UUID, with fixed figures.
extern "C" {

using Device = void*;

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char*, Device* device) {
  *device = nullptr;
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
