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
  int registers = -1;             // per thread; -1 where the file does not say
  std::int64_t stack_bytes = -1;  // per thread; -1 where the file does not say
  std::int64_t shared_bytes = 0;  // static, per block, without the hardware's share
};

struct CubinInfo {
  int architecture = 0;  // 90 for sm_90
  std::vector<CubinKernel> kernels;
};

[[nodiscard]] bool looks_like_elf(std::string_view image);

// Returns nullopt for bytes that are not a complete cubin, because they are cut short or have an
// offset that leads outside.
[[nodiscard]] std::optional<CubinInfo> read_cubin(std::string_view image);

// Returns a hash that is equal for cubins that run in the same way: with the same machine code,
// registers, constants and shared memory, whatever options they were made with. For an image that
// is not a cubin, all bytes count.
[[nodiscard]] std::string machine_code_hash(std::string_view image);

// The figures that `ptxas -v` writes to the log for a kernel, or for the first kernel if the log
// does not name this one; -1 for a figure that is missing. Only the log has the spills.
struct PtxasFigures {
  int registers = -1;
  std::int64_t spill_bytes = -1;  // stores and loads
  std::int64_t stack_bytes = -1;
  std::int64_t shared_bytes = -1;
};
[[nodiscard]] PtxasFigures read_ptxas_log(std::string_view log, std::string_view kernel);

}  // namespace autotune
