// An NVRTC of CUDA 11.8, for tests: it has the functions that are looked for and tells its version.
// Where the environment has OLD_NVRTC_HANGS, it never answers.
#include <cstdlib>

#include <unistd.h>

#define AUTOTUNE_OLD(name)                                       \
  extern "C" __attribute__((visibility("default"))) int name() { \
    return 1;                                                    \
  }

extern "C" __attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor) {
  while (std::getenv("OLD_NVRTC_HANGS") != nullptr) ::pause();
  *major = 11;
  *minor = 8;
  return 0;
}
AUTOTUNE_OLD(nvrtcGetNumSupportedArchs)
AUTOTUNE_OLD(nvrtcGetSupportedArchs)
AUTOTUNE_OLD(nvrtcGetErrorString)
AUTOTUNE_OLD(nvrtcCreateProgram)
AUTOTUNE_OLD(nvrtcDestroyProgram)
AUTOTUNE_OLD(nvrtcCompileProgram)
AUTOTUNE_OLD(nvrtcGetProgramLogSize)
AUTOTUNE_OLD(nvrtcGetProgramLog)
AUTOTUNE_OLD(nvrtcGetCUBINSize)
AUTOTUNE_OLD(nvrtcGetCUBIN)
AUTOTUNE_OLD(nvrtcGetPTXSize)
AUTOTUNE_OLD(nvrtcGetPTX)
