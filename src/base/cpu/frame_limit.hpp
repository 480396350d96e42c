// What a kernel's function may keep on its stack, on the host device: the compiler refuses more
// (host/compiler.cpp), and the fibers' stacks are made for it (host/block_runner.cpp).
#pragma once

#include <cstddef>

namespace autotune {

inline constexpr std::size_t kMaxFrameBytes = std::size_t{32} * 1024;

}  // namespace autotune
