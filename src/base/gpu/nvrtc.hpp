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
  // Looks where AUTOTUNE_NVRTC says, else for libnvrtc.so.13 and .12 where the loader looks, and
  // in the toolkit's usual folders. Throws EnvironmentError that says so when there is none.
  static std::shared_ptr<const Nvrtc> open();
  ~Nvrtc();

  // A failed compilation is a result with its log. `options` as NVRTC takes them; the option that
  // keeps NVRTC from using a cache is added.
  [[nodiscard]] CompileResult compile(const std::string& name, const std::string& source,
                                      const std::vector<std::string>& options) const;

  // "13.0.88 CL-36424714": what cubins depend on. The version that NVRTC gives lacks the build.
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
