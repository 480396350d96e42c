// Compiles kernels for the CPU device, with the system's C++ compiler. Safe to share between
// threads.
#pragma once

#include <string>
#include <vector>

namespace autotune {

struct CpuCompileResult {
  bool ok = false;
  std::string image;  // bytes of a shared object, for LoadedKernel
  std::string log;    // at most 64 KiB
};

// An image has a function of this name and the kernel's that calls it with a pointer to each of its
// arguments.
inline constexpr const char* kCallPrefix = "autotune_call_";

class CpuCompiler {
 public:
  // Takes $CXX, or c++, g++ or clang++, whichever is on the PATH. Throws EnvironmentError when
  // there is none.
  CpuCompiler();

  // source: portable CUDA C++. Of the options, written for NVRTC, only macros (-Dname=value)
  // count. name: the kernel's, a C symbol that the source defines. A source that does not compile
  // is a result; throws EnvironmentError when the compiler cannot be run or its files not be
  // written.
  [[nodiscard]] CpuCompileResult compile(const std::string& name, const std::string& source,
                                         const std::vector<std::string>& options) const;

  // Identifies everything that an image depends on besides source and options: the compiler's
  // version line and the prelude of this program.
  [[nodiscard]] const std::string& build() const { return build_; }
  [[nodiscard]] const std::string& path() const { return command_.front(); }

 private:
  std::vector<std::string> command_;  // path and fixed options
  std::string build_;
};

}  // namespace autotune
