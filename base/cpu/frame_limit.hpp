// The stack that a kernel's function may use on the CPU device: the compiler refuses more
// (cpu/compiler.cpp), and the fibers' stacks are large enough for it (cpu/block_runner.cpp).
#pragma once

#include <cstddef>

namespace autotune {

inline constexpr std::size_t kMaxFrameBytes = std::size_t{32} * 1024;

}  // namespace autotune
