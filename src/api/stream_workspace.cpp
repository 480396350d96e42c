#include "api/stream_workspace.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "autotune/error.hpp"

#include "api/fork_count.hpp"
#include "gpu/context.hpp"
#include "gpu/stream.hpp"
#include "gpu/workspace.hpp"

namespace autotune {
namespace {

// The number of the calling thread, from 1 on; no other thread ever has the same.
std::uint64_t thread_number() {
  static constinit std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t own = ++last;
  return own;
}

// A number that was never given before.
std::uint64_t new_epoch() {
  static constinit std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// An answer, which holds until its epoch ends.
struct Recent {
  std::uint64_t epoch = 0;
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};
// The thread's last answers, for threads that take turns on a few streams.
thread_local constinit std::array<Recent, 8> recent;
thread_local constinit std::size_t next_place = 0;

void remember(const Recent& answer) {
  recent[next_place] = answer;
  next_place = (next_place + 1) % recent.size();
}

}  // namespace

void refuse_capture(const gpu::Driver& driver, CUstream_st* stream) {
  if (!gpu::is_capturing(driver, stream)) return;
  throw UsageError(
      "a stream is being captured that gemm() must first load a kernel or allocate memory for: "
      "call prepare() with it before the capture begins");
}

class StreamWorkspace::Streams {
 public:
  struct Key {
    std::uint64_t context = 0;
    std::uint64_t stream = 0;
    std::uint64_t thread = 0;  // where the handle stands for each thread's own stream

    auto operator<=>(const Key&) const = default;
  };

  Streams(std::shared_ptr<const gpu::Driver> of, std::size_t max_bytes, const Allocator* allocator)
      : driver_(std::move(of)), max_bytes_(max_bytes), allocator_(allocator) {}

  [[nodiscard]] const gpu::Driver& driver() const { return *driver_; }
  [[nodiscard]] std::size_t max_bytes() const { return max_bytes_; }

  [[nodiscard]] Key key_of(std::uint64_t context, CUstream_st* stream) const {
    return {context, gpu::stream_id(*driver_, stream), thread_of(stream)};
  }
  // The key that this handle had last. The driver has no id for a stream that is being captured.
  [[nodiscard]] std::optional<Key> last_key_of(std::uint64_t context, CUstream_st* stream,
                                               bool may_wait) {
    std::shared_lock lock(mutex_, std::try_to_lock);
    if (!lock && !may_wait) return std::nullopt;
    if (!lock) lock.lock();
    std::optional<Key> last;
    for (const auto& [key, own] : all_) {  // ids grow
      const bool is_same = key.context == context && key.thread == thread_of(stream);
      if (is_same && own.handle == stream) last = key;
    }
    return last;
  }
  // The key of a stream that may be captured; nullopt where its handle had none before, or where
  // that cannot be seen without waiting for an allocation.
  [[nodiscard]] std::optional<Key> key_at_any_time(std::uint64_t context, CUstream_st* stream,
                                                   bool may_wait) {
    if (gpu::is_capturing(*driver_, stream)) return last_key_of(context, stream, may_wait);
    return key_of(context, stream);
  }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  [[nodiscard]] Found find(const Key& key, std::int64_t bytes, CUstream_st* stream) {
    const std::shared_lock lock(mutex_, std::try_to_lock);
    if (!lock) return {};
    const auto own = all_.find(key);
    if (own == all_.end()) return {};
    if (!own->second.workspace.has(bytes)) return {std::nullopt, own->second.is_short_of(bytes)};
    return {own->second.workspace.reserve(bytes, stream)};
  }

  // Allocates where it has to. Returns whether the stream had no memory before.
  bool reserve(const Key& key, std::int64_t bytes, CUstream_st* stream, bool again,
               std::optional<std::uint64_t>& address) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = all_.try_emplace(key, *driver_, max_bytes_, allocator_);
    PerStream& own = place->second;
    if (is_new) own.device = gpu::current_device(*driver_).value();
    own.handle = stream;
    const bool was_empty = !own.workspace.has(1);
    std::optional<gpu::RelaxedCapture> others_may_capture;
    if (!own.workspace.has(bytes)) {
      if (again ? !own.workspace.may_have(bytes) : own.is_short_of(bytes)) return false;
      refuse_capture(*driver_, stream);
      others_may_capture.emplace(*driver_);
    }
    try {
      address = own.workspace.reserve(bytes, stream);
      own.too_much = kNever;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_memory) throw;
      own.too_much = bytes;
    }
    return was_empty && address.has_value();
  }

  // Frees the memory for a key whose context is current.
  void release(const Key& key) {
    const std::lock_guard lock(mutex_);
    all_.erase(key);
    epoch_ = new_epoch();
  }

  // Frees memory in the current context until no more than keep_bytes are left there.
  void trim(std::uint64_t context, std::size_t keep_bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::map<Key, PerStream>::iterator> here;
    std::size_t held = 0;
    for (auto one = all_.begin(); one != all_.end(); ++one) {
      if (one->first.context != context) continue;
      here.push_back(one);
      held += one->second.workspace.size();
    }
    std::sort(here.begin(), here.end(), [](const auto& x, const auto& y) {
      return x->second.workspace.size() > y->second.workspace.size();
    });
    for (const auto& one : here) {
      one->second.too_much = kNever;
      if (held <= keep_bytes) continue;
      held -= one->second.workspace.size();
      all_.erase(one);
    }
    epoch_ = new_epoch();
  }

  // Frees the memory of a thread that ends, in the context that it is in, or the primary one. That
  // in another context ends with it.
  void end_thread(const Key& key) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(key);
    if (found == all_.end() || forks_ != fork_count()) return;
    const auto free_in = [&](std::uint64_t context) {
      if (context == key.context) found->second.workspace.discard();
    };
    try {
      if (gpu::current_device(*driver_)) free_in(gpu::current_context_id(*driver_));
    } catch (const Error&) {
      // The thread's context is gone.
    }
    gpu::in_living_primary_context(driver_, found->second.device, free_in);
    found->second.workspace.leave_to_context();
    all_.erase(found);
  }

  // Frees the memory in the current context. That of other contexts ends with them.
  void free_all(std::uint64_t context) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const auto& one) { return one.first.context == context; });
  }
  void leave_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [key, own] : all_) own.workspace.leave_to_context();
    all_.clear();
  }

 private:
  static std::uint64_t thread_of(CUstream_st* stream) {
    return gpu::is_per_thread(stream) ? thread_number() : 0;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct PerStream {
    PerStream(const gpu::Driver& driver, std::size_t max_bytes, const Allocator* allocator)
        : workspace(driver, max_bytes, allocator) {}
    [[nodiscard]] bool is_short_of(std::int64_t bytes) const {
      return bytes >= too_much || !workspace.may_have(bytes);
    }
    gpu::Workspace workspace;
    CUstream_st* handle = nullptr;
    int device = 0;
    std::int64_t too_much = kNever;  // bytes: an allocation of this size failed
  };

  std::shared_ptr<const gpu::Driver> driver_;
  std::size_t max_bytes_;
  const Allocator* allocator_;
  std::uint32_t forks_ = fork_count();
  std::shared_mutex mutex_;  // shared by those that only look
  std::map<Key, PerStream> all_;
  std::atomic<std::uint64_t> epoch_ = new_epoch();
};

namespace {

// What a thread leaves behind.
template <typename Streams>
struct ThreadEnd {
  std::vector<std::pair<std::weak_ptr<Streams>, typename Streams::Key>> owned;

  ~ThreadEnd() {
    for (const auto& [streams, key] : owned) {
      if (const auto living = streams.lock()) living->end_thread(key);
    }
  }
};

}  // namespace

StreamWorkspace::StreamWorkspace(std::shared_ptr<const gpu::Driver> driver, std::size_t max_bytes,
                                 const Allocator* allocator)
    : streams_(std::make_shared<Streams>(std::move(driver), max_bytes, allocator)) {}

StreamWorkspace::~StreamWorkspace() {
  streams_->leave_all();
}

StreamWorkspace::Found StreamWorkspace::find(std::uint64_t context, std::int64_t bytes,
                                             CUstream_st* stream) {
  if (bytes == 0) return {0};
  if (static_cast<std::size_t>(bytes) > streams_->max_bytes()) return {std::nullopt, true};
  const std::uint64_t epoch = streams_->epoch();
  const auto key = streams_->key_at_any_time(context, stream, /*may_wait=*/false);
  if (!key) return {};
  const auto known = std::find_if(recent.begin(), recent.end(), [&](const Recent& one) {
    return one.epoch == epoch && one.context == context && one.stream == key->stream &&
           one.bytes >= bytes;
  });
  if (known != recent.end()) return {known->address};
  const Found found = streams_->find(*key, bytes, stream);
  if (found.address) remember({epoch, context, key->stream, *found.address, bytes});
  return found;
}

std::optional<std::uint64_t> StreamWorkspace::reserve(std::uint64_t context, std::int64_t bytes,
                                                      CUstream_st* stream, bool again) {
  const std::uint64_t epoch = streams_->epoch();
  const Found found = find(context, bytes, stream);
  if (found.address || (found.is_short && !again)) return found.address;
  const auto key = streams_->key_at_any_time(context, stream, /*may_wait=*/true);
  if (!key) refuse_capture(streams_->driver(), stream);
  std::optional<std::uint64_t> address;
  const bool is_first = streams_->reserve(*key, bytes, stream, again, address);
  if (is_first && key->thread != 0) {
    thread_local ThreadEnd<Streams> end;
    end.owned.emplace_back(streams_, *key);
  }
  if (address) remember({epoch, context, key->stream, *address, bytes});
  return address;
}

void StreamWorkspace::release(std::uint64_t context, CUstream_st* stream) {
  streams_->release(streams_->key_of(context, stream));
}

void StreamWorkspace::trim(std::uint64_t context, std::size_t keep_bytes) {
  streams_->trim(context, keep_bytes);
}

void StreamWorkspace::free_all(std::uint64_t context) {
  streams_->free_all(context);
}

}  // namespace autotune
