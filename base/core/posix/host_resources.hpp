// The memory and cores that this machine can spare for compile workers.
#pragma once

#include <cstdint>
#include <filesystem>

namespace autotune {

// The address space that a compile worker's process may use. NVRTC takes up to 240 MiB for the
// largest kernels, a C++ compiler for the CPU device 170.
inline constexpr std::int64_t kCompileMemoryBytes = std::int64_t{1} << 30;

// Returns the memory that processes can still have, in the machine and in the control groups that
// this process is in; INT64_MAX where it is unknown. `root` is where the files are looked for.
[[nodiscard]] std::int64_t available_memory_bytes(const std::filesystem::path& root = "/");

// Returns the number of cores that this process may use: those of the machine, or fewer where a
// scheduler (Slurm, taskset) or a control group's quota of processor time limits them; at least 1.
[[nodiscard]] int usable_cores(const std::filesystem::path& root = "/");

// Returns the number of compile workers for these cores and this memory: cores - 2, or fewer if the
// memory does not suffice for them; at least 1.
[[nodiscard]] int compile_jobs_for(int cores, std::int64_t memory_bytes);

}  // namespace autotune
