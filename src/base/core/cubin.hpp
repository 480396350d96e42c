// Reads the resources of a kernel from a cubin, with an ELF reader that trusts no offset, and from
// the compiler's log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autotune {

struct CubinKernel {
  std::string name;
  int registers = -1;             // a thread; -1 where the file does not say
  std::int64_t stack_bytes = -1;  // a thread; -1 where the file does not say
  std::int64_t shared_bytes = 0;  // static, a block, without the hardware's share
};

struct CubinInfo {
  int architecture = 0;  // 90 for sm_90
  std::vector<CubinKernel> kernels;
};

[[nodiscard]] bool looks_like_elf(std::string_view image);

// nullopt when the bytes are not a complete cubin: cut short, or with an offset that leads outside.
[[nodiscard]] std::optional<CubinInfo> read_cubin(std::string_view image);

// Equal for images that run the same: the same machine code with the same registers, constants and
// shared memory, whatever options it was made with. For other bytes than a cubin's, all of them
// count.
[[nodiscard]] std::string machine_code_hash(std::string_view image);

// The figures of `ptxas -v` for a kernel, or if the log does not name it the first; -1 for what it
// does not say. Spills stand only there.
struct PtxasFigures {
  int registers = -1;
  std::int64_t spill_bytes = -1;  // stores and loads
  std::int64_t stack_bytes = -1;
  std::int64_t shared_bytes = -1;
};
[[nodiscard]] PtxasFigures read_ptxas_log(std::string_view log, std::string_view kernel);

}  // namespace autotune
