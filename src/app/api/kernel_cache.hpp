// The kernels that gemm() has chosen and loaded. What is ready is found under a shared lock; what
// is not is made ready by one thread at a time, while the others go on with what is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/kernel_selector.hpp"
#include "core/launch_geometry.hpp"

namespace autotune {

// `Loaded`: a kernel in one context of the device. Thread-safe.
template <typename Loaded>
class KernelCache {
 public:
  struct Prepared {
    MatchKind match = MatchKind::predicted;
    LaunchGeometry geometry;
    const Loaded* kernel = nullptr;  // as long as this object
    const KernelSignature* signature = nullptr;
    std::vector<TensorDesc> tensors;  // of the problem, without padding
  };

  // Everything that a kernel's code depends on, apart from the device.
  struct Key {
    std::uint64_t context = 0;
    std::string kernel_name;
    Configuration compiled_as;
    CodeTraits traits;

    auto operator<=>(const Key&) const = default;
  };

  explicit KernelCache(KernelSelector& supply) : supply_(supply) {}

  // `load(image, name, geometry)` gives a std::unique_ptr<Loaded>; all launches of a kernel need
  // the same shared memory. The answer stays as long as this object.
  template <typename Load>
  const Prepared& find_or_prepare(std::uint64_t context, const GemmProblem& problem,
                                  Placement placement, Load load) {
    const Asked asked{context, problem, placement};
    if (const Prepared* known = find(asked)) return *known;
    const std::lock_guard lock(preparing_);
    if (const Prepared* known = find(asked)) return *known;

    const KernelChoice choice = supply_.choose(problem, placement);
    const KernelTemplate& kernel = *choice.kernel;
    const Configuration& configuration = choice.best.configuration;
    LaunchGeometry geometry =
        kernel.geometry(configuration, problem).on_device(supply_.device().sm_count);
    if (placement != Placement::aligned) geometry = geometry.without_maps();
    const CodeTraits traits = compiled_for(
        kernel, {kernel.operation->code_macros(problem), placement == Placement::aligned});
    std::unique_ptr<Loaded>& loaded =
        loaded_[{context, kernel.name, compiled_as(kernel, configuration), traits}];
    if (!loaded) loaded = load(supply_.image(choice, traits), kernel.name, geometry);
    const Prepared& prepared =
        prepared_.emplace_back(Prepared{choice.best.match, geometry, loaded.get(),
                                        &kernel.signature, kernel.operation->tensors(problem)});
    const std::unique_lock writing(ready_mutex_);
    ready_.emplace(asked, &prepared);
    return prepared;
  }

  void forget_choices() {
    const std::lock_guard lock(preparing_);
    const std::unique_lock writing(ready_mutex_);
    ready_.clear();
  }

  // Nobody else may use the object any more.
  [[nodiscard]] std::map<Key, std::unique_ptr<Loaded>>& loaded() { return loaded_; }

 private:
  using Asked = std::tuple<std::uint64_t, GemmProblem, Placement>;

  const Prepared* find(const Asked& asked) {
    const std::shared_lock reading(ready_mutex_);
    const auto place = ready_.find(asked);
    return place == ready_.end() ? nullptr : place->second;
  }

  KernelSelector& supply_;
  std::mutex preparing_;
  // Both by the thread that prepares. Forgotten choices stay: calls may be at work with them.
  std::map<Key, std::unique_ptr<Loaded>> loaded_;
  std::deque<Prepared> prepared_;
  std::shared_mutex ready_mutex_;
  std::map<Asked, const Prepared*> ready_;
};

}  // namespace autotune
