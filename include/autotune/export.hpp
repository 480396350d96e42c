// Marks the symbols that a shared library of autotune exports; all others are hidden.
#pragma once

#if defined(AUTOTUNE_SHARED)  // CMake defines it, for the library and for what links it
#define AUTOTUNE_API [[gnu::visibility("default")]]
#else
#define AUTOTUNE_API
#endif
