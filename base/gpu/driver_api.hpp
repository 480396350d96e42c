// The driver's functions that this module uses, each at the version whose signature it is called
// with. Only base/gpu may include this header, because it includes cuda.h.
#pragma once

#include <cudaTypedefs.h>

#include "gpu/shared_library.hpp"

// Each line has a function: its name, the CUDA version of its signature (as cuGetProcAddress counts
// versions), and the type with that signature.
#define AUTOTUNE_DRIVER_FUNCTIONS(X)                                                        \
  X(cuInit, 2000, PFN_cuInit_v2000)                                                         \
  X(cuDriverGetVersion, 2020, PFN_cuDriverGetVersion_v2020)                                 \
  X(cuGetErrorName, 6000, PFN_cuGetErrorName_v6000)                                         \
  X(cuGetErrorString, 6000, PFN_cuGetErrorString_v6000)                                     \
  X(cuDeviceGet, 2000, PFN_cuDeviceGet_v2000)                                               \
  X(cuDeviceGetCount, 2000, PFN_cuDeviceGetCount_v2000)                                     \
  X(cuDeviceGetName, 2000, PFN_cuDeviceGetName_v2000)                                       \
  X(cuDeviceGetUuid, 11040, PFN_cuDeviceGetUuid_v11040)                                     \
  X(cuDeviceTotalMem, 3020, PFN_cuDeviceTotalMem_v3020)                                     \
  X(cuDeviceGetAttribute, 2000, PFN_cuDeviceGetAttribute_v2000)                             \
  X(cuDevicePrimaryCtxRetain, 7000, PFN_cuDevicePrimaryCtxRetain_v7000)                     \
  X(cuDevicePrimaryCtxRelease, 11000, PFN_cuDevicePrimaryCtxRelease_v11000)                 \
  X(cuDevicePrimaryCtxGetState, 7000, PFN_cuDevicePrimaryCtxGetState_v7000)                 \
  X(cuCtxGetCurrent, 4000, PFN_cuCtxGetCurrent_v4000)                                       \
  X(cuCtxGetDevice, 2000, PFN_cuCtxGetDevice_v2000)                                         \
  X(cuCtxGetId, 12000, PFN_cuCtxGetId_v12000)                                               \
  X(cuCtxPushCurrent, 4000, PFN_cuCtxPushCurrent_v4000)                                     \
  X(cuCtxPopCurrent, 4000, PFN_cuCtxPopCurrent_v4000)                                       \
  X(cuMemAlloc, 3020, PFN_cuMemAlloc_v3020)                                                 \
  X(cuMemFree, 3020, PFN_cuMemFree_v3020)                                                   \
  X(cuMemGetInfo, 3020, PFN_cuMemGetInfo_v3020)                                             \
  X(cuMemHostAlloc, 2020, PFN_cuMemHostAlloc_v2020)                                         \
  X(cuMemFreeHost, 2000, PFN_cuMemFreeHost_v2000)                                           \
  X(cuMemcpyHtoDAsync, 3020, PFN_cuMemcpyHtoDAsync_v3020)                                   \
  X(cuMemcpyDtoHAsync, 3020, PFN_cuMemcpyDtoHAsync_v3020)                                   \
  X(cuMemsetD32Async, 3020, PFN_cuMemsetD32Async_v3020)                                     \
  X(cuMemsetD2D32Async, 3020, PFN_cuMemsetD2D32Async_v3020)                                 \
  X(cuMemcpyDtoDAsync, 3020, PFN_cuMemcpyDtoDAsync_v3020)                                   \
  X(cuMemcpy2DAsync, 3020, PFN_cuMemcpy2DAsync_v3020)                                       \
  X(cuStreamCreate, 2000, PFN_cuStreamCreate_v2000)                                         \
  X(cuStreamDestroy, 4000, PFN_cuStreamDestroy_v4000)                                       \
  X(cuStreamSynchronize, 2000, PFN_cuStreamSynchronize_v2000)                               \
  X(cuStreamGetId, 12000, PFN_cuStreamGetId_v12000)                                         \
  X(cuStreamIsCapturing, 10000, PFN_cuStreamIsCapturing_v10000)                             \
  X(cuStreamBeginCapture, 10010, PFN_cuStreamBeginCapture_v10010)                           \
  X(cuThreadExchangeStreamCaptureMode, 10010, PFN_cuThreadExchangeStreamCaptureMode_v10010) \
  X(cuStreamEndCapture, 10000, PFN_cuStreamEndCapture_v10000)                               \
  X(cuGraphInstantiateWithFlags, 11040, PFN_cuGraphInstantiateWithFlags_v11040)             \
  X(cuGraphLaunch, 10000, PFN_cuGraphLaunch_v10000)                                         \
  X(cuGraphExecDestroy, 10000, PFN_cuGraphExecDestroy_v10000)                               \
  X(cuGraphDestroy, 10000, PFN_cuGraphDestroy_v10000)                                       \
  X(cuEventCreate, 2000, PFN_cuEventCreate_v2000)                                           \
  X(cuEventDestroy, 4000, PFN_cuEventDestroy_v4000)                                         \
  X(cuEventRecord, 2000, PFN_cuEventRecord_v2000)                                           \
  X(cuEventSynchronize, 2000, PFN_cuEventSynchronize_v2000)                                 \
  X(cuEventElapsedTime, 2000, PFN_cuEventElapsedTime_v2000)                                 \
  X(cuModuleLoadData, 2000, PFN_cuModuleLoadData_v2000)                                     \
  X(cuModuleUnload, 2000, PFN_cuModuleUnload_v2000)                                         \
  X(cuModuleGetFunction, 2000, PFN_cuModuleGetFunction_v2000)                               \
  X(cuFuncGetAttribute, 2020, PFN_cuFuncGetAttribute_v2020)                                 \
  X(cuFuncSetAttribute, 9000, PFN_cuFuncSetAttribute_v9000)                                 \
  X(cuTensorMapEncodeTiled, 12000, PFN_cuTensorMapEncodeTiled_v12000)                       \
  X(cuLaunchKernelEx, 11060, PFN_cuLaunchKernelEx_v11060)

// The same for functions that a driver may lack.
#define AUTOTUNE_OPTIONAL_DRIVER_FUNCTIONS(X) \
  X(cuCtxResetPersistingL2Cache, 11000, PFN_cuCtxResetPersistingL2Cache_v11000)

namespace autotune::gpu {

struct DriverApi {
  explicit DriverApi(SharedLibrary driver) : library(std::move(driver)) {}
  SharedLibrary library;
#define AUTOTUNE_DECLARE(name, version, type) type name = nullptr;
  AUTOTUNE_DRIVER_FUNCTIONS(AUTOTUNE_DECLARE)
  AUTOTUNE_OPTIONAL_DRIVER_FUNCTIONS(AUTOTUNE_DECLARE)
#undef AUTOTUNE_DECLARE
};

}  // namespace autotune::gpu
