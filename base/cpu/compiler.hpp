// Compiles kernels for the CPU device, and functions of the host, with the system's C++ compiler.
// Safe to share between threads.
#pragma once

#include <string>
#include <vector>

namespace autotune {

struct CpuCompileResult {
  bool ok = false;
  std::string image;  // bytes of a shared object, for LoadedKernel
  std::string log;    // at most 64 KiB
};

enum class CpuCode {
  fast,
  traced,  // for trace_block (cpu/access_trace.hpp) alone
  host,    // no kernel: has the headers of the C++ library, and is called once, not by threads
};

// The name, before the kernel's own name, of the function in an image that calls the kernel with a
// pointer to each of its arguments.
inline constexpr const char* kCallPrefix = "autotune_call_";

class CpuCompiler {
 public:
  // Takes the compiler that $CXX names, or else the first of c++, g++ and clang++ that is on the
  // PATH. Throws EnvironmentError when there is none.
  CpuCompiler();

  // Compiles portable CUDA C++. `kernels` are the names of its kernels, C symbols that the source
  // defines. The options are written for NVRTC; all but macros (-Dname=value) are ignored. A source
  // that does not compile gives a result that is not ok. Throws EnvironmentError when the compiler
  // cannot be run, its files cannot be written, or anything but the source stopped it.
  [[nodiscard]] CpuCompileResult compile(const std::vector<std::string>& kernels,
                                         const std::string& source,
                                         const std::vector<std::string>& options,
                                         CpuCode code = CpuCode::fast) const;
  [[nodiscard]] CpuCompileResult compile(const std::string& kernel, const std::string& source,
                                         const std::vector<std::string>& options,
                                         CpuCode code = CpuCode::fast) const {
    return compile(std::vector{kernel}, source, options, code);
  }

  // Identifies everything that an image depends on besides source and options: the compiler's
  // version line and the prelude of this program.
  [[nodiscard]] const std::string& build() const { return build_; }
  [[nodiscard]] const std::string& path() const { return command_.front(); }

 private:
  std::vector<std::string> command_;  // path and fixed options
  std::string build_;
};

}  // namespace autotune
