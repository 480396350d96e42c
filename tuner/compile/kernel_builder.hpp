// Turns configurations into compiled kernels, each once: from the cubin store where it has them,
// else by the compile workers. One kernel serves every problem with the same CodeTraits.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tuner/compile/compile_pool.hpp"

namespace autotune {

struct BuiltKernel {
  TrialStatus status = TrialStatus::ok;  // ok, or why it cannot be run
  std::string detail;
  std::string image;  // cubin, or PTX for a device newer than the compiler
  Resources resources;
  std::string code;  // equal for images that run the same; empty where there is none
};

// Belongs to one thread; the compiling happens in others.
class KernelBuilder {
 public:
  using Ticket = std::size_t;

  // `target` is what compile_options() takes: "sm_90", or "compute_120" for PTX.
  // `store` may be null.
  KernelBuilder(CompilePool& pool, CubinStore* store, std::string nvrtc_build, std::string target);

  // Asks for a kernel; the same one gives the same ticket.
  Ticket request(const KernelTemplate& kernel, const Configuration& configuration,
                 const Problem& problem);
  // The kernel, or nullptr while it is being compiled. Valid as long as the builder.
  [[nodiscard]] const BuiltKernel* find(Ticket ticket) const { return built_[ticket].get(); }
  // Takes in what the compile workers have finished; waits for the first of them until `deadline`.
  void collect(std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] std::int64_t compiled() const { return compiled_; }
  [[nodiscard]] std::int64_t reused() const { return reused_; }

 private:
  void finish(CompileOutcome outcome);

  CompilePool& pool_;
  CubinStore* store_;
  std::string nvrtc_build_;
  std::string target_;
  std::map<std::string, Ticket> tickets_;  // by cubin key
  std::vector<std::string> keys_;          // by ticket
  std::vector<std::unique_ptr<const BuiltKernel>> built_;
  std::size_t in_flight_ = 0;
  std::int64_t compiled_ = 0;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
