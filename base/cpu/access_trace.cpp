#include "cpu/access_trace.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "autotune/error.hpp"

#include "core/thread_pool.hpp"
#include "cpu/block_runner.hpp"
#include "cpu/tensors.hpp"

namespace autotune {
namespace {

constexpr std::size_t kWarp = 32;
constexpr std::ptrdiff_t kWidest = 16;  // bytes of one instruction
constexpr std::uint8_t kNoTensor = LaunchGeometry::kMaxTensors;

// A place in the code that a thread has passed, and its access there. In a function, a thread
// proceeds to higher places; the frame of a function that it calls is lower on the stack.
struct Passed {
  const void* place = nullptr;
  std::ptrdiff_t frame = 0;         // of the function, relative to the thread's first one
  std::uint32_t bytes = 0;          // 0: no access
  std::int64_t offset = 0;          // of the address, in the tensor or in shared memory
  std::uint8_t tensor = kNoTensor;  // that the elements belong to
  bool is_shared = false;
  bool writes = false;
  bool whole = false;  // as wide as the access of the GPU's code

  // Returns whether a thread at this place proceeds first, so that a thread at the other place
  // meets it again.
  [[nodiscard]] bool is_behind(const Passed& other) const {
    return std::tuple(frame, place) < std::tuple(other.frame, other.place);
  }
};

using Way = std::vector<Passed>;

// An access of a warp. Its lanes differ in `offsets` alone.
struct Executed : Passed {
  std::vector<std::int64_t> offsets;
};

class Tracer {
 public:
  // The last of the tensors is the output. In each of the others all elements are the same number.
  Tracer(const std::vector<ElementBuffer>& tensors, autotune_block_state& state,
         std::size_t threads)
      : tensors_(tensors), state_(state), threads_(threads) {
    state.trace = [](void* tracer, const autotune_step& step) {
      static_cast<Tracer*>(tracer)->add(step);
    };
    state.tracer = this;
  }

  // Returns the accesses of a warp whose lanes proceed in lockstep where their ways are the same.
  [[nodiscard]] std::vector<Executed> accesses(std::size_t warp) {
    settle();
    std::vector<std::span<const Passed>> lanes;
    for (std::size_t i = warp * kWarp; i < std::min((warp + 1) * kWarp, threads_.size()); ++i) {
      lanes.emplace_back(threads_[i].way);
    }
    std::vector<Executed> all;
    while (true) {
      std::erase_if(lanes, [](const auto& way) { return way.empty(); });
      if (lanes.empty()) return all;
      Executed executed{
          *std::min_element(lanes.begin(), lanes.end(),
                            [](auto& a, auto& b) { return a.front().is_behind(b.front()); })
               ->data(),
          {}};
      for (std::span<const Passed>& way : lanes) {
        if (executed.is_behind(way.front())) continue;
        if (executed.bytes > 0) executed.offsets.push_back(way.front().offset);
        executed.tensor = std::min(executed.tensor, way.front().tensor);
        way = way.subspan(1);
      }
      if (executed.bytes > 0) all.push_back(std::move(executed));
    }
  }

 private:
  struct Thread {
    const std::byte* first_frame = nullptr;
    Way way;
  };

  void add(const autotune_step& step) {
    if (step.kind == autotune_step::whole) {
      whole_ = step;
      return;
    }
    const auto& [x, y, z] = state_.thread;
    Thread& thread = threads_[x + state_.block_dim.x * (y + state_.block_dim.y * z)];
    const auto* const frame = static_cast<const std::byte*>(step.frame);
    if (thread.way.empty()) thread.first_frame = frame;
    const Passed passed{.place = step.place, .frame = frame - thread.first_frame};
    if (step.kind == autotune_step::pass) {
      pass(thread.way, passed);
    } else {
      access(thread.way, passed, step);
    }
  }

  // While a thread only proceeds to higher places, its last place is enough to meet other threads.
  void pass(Way& way, const Passed& passed) {
    settle();
    if (!way.empty() && way.back().bytes == 0 && way.back().is_behind(passed)) way.pop_back();
    way.push_back(passed);
  }

  void access(Way& way, Passed passed, const autotune_step& step) {
    const auto* const address = static_cast<const std::byte*>(step.address);
    const bool is_whole = address == whole_.address && whole_.bytes > 0;
    const bool is_first = whole_.kind == autotune_step::whole;
    const unsigned long bytes = is_whole ? whole_.bytes : step.bytes;
    if (is_whole) {
      whole_ = step;  // what is left to access
      whole_.address = address + step.bytes;
      whole_.bytes = bytes - step.bytes;
      if (!is_first) return;
    }
    passed.bytes = static_cast<std::uint32_t>(bytes);
    passed.is_shared = step.is_shared;
    passed.writes = step.kind == autotune_step::write;
    passed.whole = is_whole;
    if (step.is_shared) {
      passed.offset = reinterpret_cast<std::intptr_t>(address);
      unsettled_.emplace_back(&way, way.size());
    } else {
      passed.tensor = tensor_with([&](const ElementBuffer& tensor, std::size_t element_bytes) {
        passed.offset = address - tensor.data();
        return address >= tensor.data() &&
               passed.offset < tensor.count() * static_cast<std::int64_t>(element_bytes);
      });
      if (passed.tensor == kNoTensor) return;  // the thread's own memory
    }
    way.push_back(passed);
  }

  // Finds out to which inputs the elements in shared memory belong. This comes one step late,
  // because a write is reported before it is done.
  void settle() {
    for (const auto& [way, index] : unsettled_) {
      Passed& passed = (*way)[index];
      passed.tensor = tensor_with([&](const ElementBuffer& tensor, std::size_t element_bytes) {
        return &tensor != &tensors_.back() &&
               std::memcmp(reinterpret_cast<const void*>(passed.offset), tensor.data(),
                           element_bytes) == 0;
      });
    }
    unsettled_.clear();
  }

  template <typename Condition>
  [[nodiscard]] std::uint8_t tensor_with(Condition condition) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (condition(tensors_[i], static_cast<std::size_t>(size_bytes(tensors_[i].type()))))
        return static_cast<std::uint8_t>(i);
    }
    return kNoTensor;
  }

  const std::vector<ElementBuffer>& tensors_;
  autotune_block_state& state_;
  std::vector<Thread> threads_;
  std::vector<std::pair<Way*, std::size_t>> unsettled_;  // accesses to shared memory
  autotune_step whole_{};  // the part of a vector that has not been accessed yet
};

// Returns whether one instruction can make all these accesses, for all lanes.
bool are_neighbours(std::span<const Executed* const> accesses) {
  const std::vector<std::int64_t>& first = accesses.front()->offsets;
  const std::int64_t bytes = accesses.front()->bytes;
  const auto count = static_cast<std::int64_t>(accesses.size());
  for (std::size_t lane = 0; lane < first.size(); ++lane) {
    if (first[lane] % (count * bytes) != 0) return false;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<std::int64_t>& offsets = accesses[static_cast<std::size_t>(i)]->offsets;
      if (offsets.size() != first.size() || offsets[lane] != first[lane] + i * bytes) return false;
    }
  }
  return true;
}

// Merges neighbours among the executions of one instruction. An execution that was merged into
// another is marked with kNoTensor.
void merge(std::vector<Executed*> accesses) {
  std::sort(accesses.begin(), accesses.end(),
            [](const Executed* a, const Executed* b) { return a->offsets < b->offsets; });
  for (auto first = accesses.begin(); first != accesses.end();) {
    std::ptrdiff_t count = kWidest / (*first)->bytes;
    while (count > 1 &&
           (accesses.end() - first < count || !are_neighbours({first, first + count}))) {
      count /= 2;
    }
    (*first)->bytes *= static_cast<std::uint32_t>(count);
    for (auto other = first + 1; other != first + count; ++other) {
      (*first)->tensor = std::min((*first)->tensor, std::exchange((*other)->tensor, kNoTensor));
    }
    first += count;
  }
}

// Merges accesses to shared memory that a GPU's compiler merges, because it can see that their
// elements are neighbours.
void merge_neighbours(std::vector<Executed>& all, const TracedLaunch& launch) {
  std::map<const void*, std::vector<Executed*>> by_place;
  for (Executed& one : all) {
    if (one.is_shared && !one.whole) by_place[one.place].push_back(&one);
  }
  for (const auto& [place, executions] : by_place) {
    const auto count = static_cast<std::int64_t>(executions.size());
    const std::int64_t times = launch.k_tiles * (executions.front()->writes ? 1 : launch.turns);
    const std::int64_t together = count % times == 0 ? count / times : count;
    for (auto first = executions.begin(); first != executions.end(); first += together) {
      merge({first, first + together});
    }
  }
  std::erase_if(all, [](const Executed& one) { return one.tensor == kNoTensor; });
}

std::string name_of(const Passed& access, std::string tensor) {
  for (char& c : tensor) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (!access.is_shared) return (access.writes ? "store " : "load ") + tensor;
  return (access.writes ? "store tile of " : "read tile of ") + tensor;
}

}  // namespace

std::vector<WarpAccess> trace_block(const std::string& image, const TracedLaunch& launch) {
  ThreadPool pool(1);
  std::vector<ElementBuffer> tensors;
  std::vector<LaunchValues::Tensor> placed;
  for (const TensorDesc& tensor : launch.tensors) {
    // The numbers are at least 3, so that no sum of products of elements equals an element.
    const double number = 3 + 2 * static_cast<double>(tensors.size());
    const std::int64_t elements = tensor.rows * tensor.row_stride;
    tensors.push_back(linear(tensor.type, elements, number, number, pool));
    placed.push_back({reinterpret_cast<std::uint64_t>(tensors.back().data()), tensor.row_stride});
  }
  const ArgumentLayout layout(launch.signature);
  ArgumentPack arguments(layout,
                         {.tensors = placed, .sizes = launch.sizes, .scalars = launch.scalars});
  const LoadedKernel kernel(image, launch.kernel_name);
  const auto threads = static_cast<std::size_t>(launch.geometry.threads());
  Tracer tracer(tensors, *kernel.entry().state, threads);
  const auto fault = BlockRunner().run(kernel.entry(), arguments.pointers(), launch.geometry, 0);
  if (fault) throw Error(*fault);

  std::vector<WarpAccess> accesses;
  for (std::size_t warp = 0; warp * kWarp < threads; ++warp) {
    std::vector<Executed> of_warp = tracer.accesses(warp);
    merge_neighbours(of_warp, launch);
    for (Executed& one : of_warp) {
      accesses.push_back({name_of(one, launch.tensors[one.tensor].name),
                          one.is_shared ? MemorySpace::shared : MemorySpace::global, one.bytes,
                          std::move(one.offsets)});
    }
  }
  return accesses;
}

}  // namespace autotune
