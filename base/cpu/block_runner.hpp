// Runs one thread block of a kernel on one thread of the operating system: a fiber for each of the
// block's threads, and real barriers between them. A BlockRunner belongs to one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "core/launch_geometry.hpp"
#include "cpu/loaded_kernel.hpp"

namespace autotune {

class BlockRunner {
 public:
  static constexpr std::size_t kMaxThreads = 1024;

  // Throws EnvironmentError when there is no memory for the stacks.
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Runs block number `block` of the grid, counted along x, then y, then z; it has 1 to kMaxThreads
  // threads. `arguments` has a pointer to each of the kernel's arguments. Returns the fault if some
  // threads do not reach the same barrier as the others; the block is then abandoned. A kernel that
  // crashes ends this process, and one that never ends keeps this thread.
  std::optional<std::string> run(const KernelEntry& kernel, void** arguments,
                                 const LaunchGeometry& geometry, std::size_t block);

 private:
  using Fiber = boost::context::detail::fcontext_t;
  using Arrival = boost::context::detail::transfer_t;

  void prepare(const LaunchGeometry& geometry);
  [[nodiscard]] std::string thread_text(std::size_t thread) const;

  // These run on the stacks of fibers.
  static void enter(Arrival arrival);
  static void wait_at_barrier(void* runner, int line);
  void switch_to_next();
  void switch_to(Fiber fiber);
  void leave();
  [[nodiscard]] bool end_round();

  std::byte* stacks_;          // of all fibers, side by side
  std::vector<Fiber> fibers_;  // where each is to be resumed
  std::vector<autotune_index> indices_;
  LaunchGeometry geometry_{.block = {0, 0, 0}};

  KernelEntry kernel_{};
  void** arguments_ = nullptr;
  Fiber main_ = nullptr;        // run() itself
  Fiber* suspended_ = nullptr;  // where the fiber that was left last is resumed
  std::size_t threads_ = 0;
  std::size_t current_ = 0;
  // In a round every thread runs once, to its next barrier or to its end.
  std::size_t waiting_ = 0;  // threads of this round that have reached the barrier
  std::size_t ended_thread_ = 0;
  int line_ = 0;  // of that barrier, in the kernel's text
  std::optional<std::string> fault_;
};

}  // namespace autotune
