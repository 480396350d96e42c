// The memory and cores that this machine can spare for compile workers.
#pragma once

#include <cstdint>
#include <filesystem>

namespace autotune {

// The address space that a compile worker's process may use. NVRTC takes up to 240 MiB for the
// largest kernels, a C++ compiler for the CPU device 170.
inline constexpr std::int64_t kCompileMemoryBytes = std::int64_t{1} << 30;

// Memory that processes can still have: of the machine, and of the control groups that this process
// is in. `root` stands in for the file system's. INT64_MAX where nothing says.
[[nodiscard]] std::int64_t available_memory_bytes(const std::filesystem::path& root = "/");

// Cores that this process may run on: those of the machine, less where a scheduler (Slurm, taskset)
// or a control group's quota of processor time allows fewer; at least 1.
[[nodiscard]] int usable_cores(const std::filesystem::path& root = "/");

// The number of compile workers for these cores and this memory: cores - 2, if memory suffices, at
// least 1.
[[nodiscard]] int compile_jobs_for(int cores, std::int64_t memory_bytes);

}  // namespace autotune
