// Turns configurations into compiled kernels. Each kernel comes from the cubin store, or else is
// compiled once, and serves every problem with the same CodeTraits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/compile/compile_pool.hpp"

namespace autotune {

// Asks a worker for the compiler that the workers use. A worker that dies is replaced twice. Throws
// EnvironmentError when no worker answers within the time or none has a compiler.
[[nodiscard]] DescribeCompilerReply describe_compiler(const WorkerFactory& make_worker,
                                                      std::chrono::milliseconds timeout);

struct BuiltKernel {
  TrialStatus status = TrialStatus::ok;  // ok, or why it cannot be run
  std::string detail;
  std::string image;  // cubin, or PTX for a device newer than the compiler
  Resources resources;
  std::string code;  // equal for images with the same machine code; empty without machine code
};

// Belongs to one thread; the compile workers have their own.
class KernelBuilder {
 public:
  using Ticket = std::size_t;

  // `target` is what compile_options() takes: "sm_90", or "compute_120" for PTX.
  // `store` may be null.
  KernelBuilder(CompilePool& pool, CubinStore* store, std::string nvrtc_build, std::string target);

  // Asks for a kernel and returns its ticket, which is the same in each call for the same kernel.
  Ticket request(const KernelTemplate& kernel, const Configuration& configuration,
                 const Problem& problem);
  // Forgets the kernels whose compilation has not begun. Their tickets are no longer valid.
  void drop_queued();
  // The kernel, or nullptr while it is being compiled. Valid as long as the builder.
  [[nodiscard]] const BuiltKernel* find(Ticket ticket) const { return built_[ticket].get(); }
  // Takes a result that the compile pool has posted. Throws EnvironmentError when something other
  // than the kernel keeps the compiler from its work.
  void take(KernelBuilt built);

  [[nodiscard]] std::int64_t compiled() const { return compiled_; }
  [[nodiscard]] std::int64_t reused() const { return reused_; }

 private:
  CompilePool& pool_;
  CubinStore* store_;
  std::string nvrtc_build_;
  std::string target_;
  std::map<std::string, Ticket> tickets_;  // by cubin key
  std::vector<std::string> keys_;          // by ticket
  std::vector<std::unique_ptr<const BuiltKernel>> built_;
  std::vector<bool> may_spill_;  // by ticket
  std::int64_t compiled_ = 0;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
