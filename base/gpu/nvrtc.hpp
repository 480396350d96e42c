// NVRTC, NVIDIA's run-time compiler, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/trial.hpp"

namespace autotune::gpu {

struct CompileResult {
  bool ok = false;
  std::string image;  // the cubin; PTX for a target "compute_XX"
  std::string ptx;
  std::string log;  // at most 64 KiB
  Resources resources;
};

// Thread-safe; compiles in parallel.
class Nvrtc {
 public:
  // Opens the library that AUTOTUNE_NVRTC names, or else libnvrtc.so.13 or .12 from the loader's
  // folders or the toolkit's usual folders. Throws EnvironmentError if there is none of CUDA 12.1
  // or newer.
  static std::shared_ptr<const Nvrtc> open();
  ~Nvrtc();

  // A failed compilation gives a result with its log. `options` are NVRTC's; the option that keeps
  // NVRTC from using a cache is added to them.
  [[nodiscard]] CompileResult compile(const std::string& name, const std::string& source,
                                      const std::vector<std::string>& options) const;

  // "13.0.88 CL-36424714", on which cubins depend. The version that NVRTC itself gives lacks the
  // build.
  [[nodiscard]] const std::string& build() const { return build_; }
  // The architectures that it makes cubins for: "sm_75", ...
  [[nodiscard]] const std::vector<std::string>& architectures() const { return architectures_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int major() const { return major_; }
  [[nodiscard]] int minor() const { return minor_; }

 private:
  struct Api;
  Nvrtc();
  [[nodiscard]] std::string read_build() const;

  std::unique_ptr<const Api> api_;
  std::string path_;
  std::string build_;
  std::vector<std::string> architectures_;
  int major_ = 0;
  int minor_ = 0;
};

}  // namespace autotune::gpu
