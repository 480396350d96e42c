#include "cpu/block_runner.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include "autotune/error.hpp"

#include "cpu/frame_limit.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Marks functions that leave their stack in the middle. The thread sanitizer keeps a stack of calls
// for each thread of the operating system, which such functions would unbalance.
#define AUTOTUNE_SWITCHES_STACKS __attribute__((no_sanitize("thread")))

namespace autotune {
namespace {

// These functions are used instead of boost::context::fiber, which is built on them, for three
// reasons. The class needs 90 ns more to start a fiber, and the threads of blocks are started
// thousands of times (a switch takes the same time). It would unwind an abandoned fiber through the
// kernel's frames. And a sanitizer would instrument its functions.
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;

constexpr std::size_t kStackBytes = 2 * kMaxFrameBytes;
// The pitch keeps equal places on neighbouring stacks from competing for the same cache lines.
constexpr std::size_t kStackPitch = kStackBytes + 5 * 64;
constexpr std::size_t kAllStacksBytes = BlockRunner::kMaxThreads * kStackPitch;

// Clears the red zones that frames of abandoned fibers, or what was mapped here before, leave in
// the address sanitizer's shadow.
void forget_frames([[maybe_unused]] const std::byte* stacks) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(stacks, kAllStacksBytes);
#endif
}

std::byte* allocate_stacks() {
  // A page takes memory only once it is touched.
  void* const memory = mmap(nullptr, kAllStacksBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw EnvironmentError("there is not enough memory for the stacks of a block (see ulimit -v)");
  }
  auto* const stacks = static_cast<std::byte*>(memory);
  forget_frames(stacks);
  return stacks;
}

autotune_index index_of(std::size_t number, const std::array<std::int64_t, 3>& extent) {
  const auto x = static_cast<std::size_t>(extent[0]);
  const auto y = static_cast<std::size_t>(extent[1]);
  return {static_cast<unsigned>(number % x), static_cast<unsigned>(number / x % y),
          static_cast<unsigned>(number / x / y)};
}

autotune_index extent_of(const std::array<std::int64_t, 3>& extent) {
  return {static_cast<unsigned>(extent[0]), static_cast<unsigned>(extent[1]),
          static_cast<unsigned>(extent[2])};
}

}  // namespace

BlockRunner::BlockRunner() : stacks_(allocate_stacks()) {}

BlockRunner::~BlockRunner() {
  munmap(stacks_, kAllStacksBytes);
}

std::optional<std::string> BlockRunner::run(const KernelEntry& kernel, void** arguments,
                                            const LaunchGeometry& geometry, std::size_t block) {
  prepare(geometry);
  kernel_ = kernel;
  arguments_ = arguments;
  autotune_block_state& state = *kernel.state;
  state.block = index_of(block, geometry.grid);
  state.block_dim = extent_of(geometry.block);
  state.grid_dim = extent_of(geometry.grid);
  state.barrier = &BlockRunner::wait_at_barrier;
  state.runner = this;
  for (std::size_t i = 0; i < threads_; ++i) {
    fibers_[i] = make_fcontext(stacks_ + i * kStackPitch + kStackBytes, kStackBytes, &enter);
  }
  fault_.reset();
  waiting_ = 0;
  current_ = 0;
  suspended_ = &main_;
  state.thread = indices_[0];
  switch_to(fibers_[0]);
  if (fault_) forget_frames(stacks_);
  return fault_;
}

void BlockRunner::prepare(const LaunchGeometry& geometry) {
  if (geometry_ == geometry) return;
  geometry_ = geometry;
  threads_ = static_cast<std::size_t>(geometry.threads());
  fibers_.resize(threads_);
  indices_.resize(threads_);
  for (std::size_t i = 0; i < threads_; ++i) indices_[i] = index_of(i, geometry.block);
}

std::string BlockRunner::thread_text(std::size_t thread) const {
  const autotune_index& index = indices_[thread];
  return fmt::format("thread ({}, {}, {})", index.x, index.y, index.z);
}

AUTOTUNE_SWITCHES_STACKS void BlockRunner::switch_to(Fiber fiber) {
  const Arrival arrival = jump_fcontext(fiber, this);
  // This fiber was resumed by the one that was left last.
  *suspended_ = arrival.fctx;
}

AUTOTUNE_SWITCHES_STACKS void BlockRunner::leave() {
  suspended_ = &fibers_[0];  // never resumed
  switch_to(main_);
}

// Returns whether the block is done, or cannot go on because some threads wait for others that have
// ended.
AUTOTUNE_SWITCHES_STACKS bool BlockRunner::end_round() {
  const std::size_t waiting = waiting_;
  waiting_ = 0;
  if (waiting == threads_) return false;
  if (waiting > 0) {
    fault_ = fmt::format("{} of {} threads wait at the barrier in line {}, but {} has ended",
                         waiting, threads_, line_, thread_text(ended_thread_));
  }
  return true;
}

// Resumes the block's next thread; the round's last one hands over to the first.
AUTOTUNE_SWITCHES_STACKS void BlockRunner::switch_to_next() {
  const std::size_t own = current_;
  suspended_ = &fibers_[own];
  if (++current_ == threads_) {
    if (end_round()) return leave();
    current_ = 0;
  }
  kernel_.state->thread = indices_[current_];
  if (current_ != own) switch_to(fibers_[current_]);
}

AUTOTUNE_SWITCHES_STACKS void BlockRunner::enter(Arrival arrival) {
  auto& self = *static_cast<BlockRunner*>(arrival.data);
  *self.suspended_ = arrival.fctx;
  self.kernel_.call(self.arguments_);
  self.ended_thread_ = self.current_;
  self.switch_to_next();  // never returns
}

AUTOTUNE_SWITCHES_STACKS void BlockRunner::wait_at_barrier(void* runner, int line) {
  auto& self = *static_cast<BlockRunner*>(runner);
  if (self.waiting_++ == 0) self.line_ = line;
  if (self.line_ != line) {
    self.fault_ = fmt::format("{} waits at the barrier in line {}, others at the one in line {}",
                              self.thread_text(self.current_), line, self.line_);
    self.leave();
  }
  self.switch_to_next();
}

}  // namespace autotune
