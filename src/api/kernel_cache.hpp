// The kernels that are loaded. Threads wait for each other only where they need the same one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Everything that a loaded kernel's code depends on, apart from the device.
struct KernelKey {
  std::uint64_t context = 0;
  std::string kernel_name;
  Configuration compiled_as;
  CodeTraits traits;

  friend bool operator<(const KernelKey& a, const KernelKey& b) {
    return std::tie(a.context, a.kernel_name, a.compiled_as, a.traits) <
           std::tie(b.context, b.kernel_name, b.compiled_as, b.traits);
  }
};

// `Loaded`: a kernel in one context of the device. Thread-safe.
template <typename Loaded>
class KernelCache {
 public:
  // `load()` gives a std::unique_ptr<Loaded>. When it throws, the next thread tries again. The
  // answer stays as long as this object.
  template <typename Load>
  const Loaded& find_or_load(const KernelKey& key, Load load) {
    Entry& entry = entry_of(key);
    const std::lock_guard lock(entry.loading);
    if (!entry.kernel) entry.kernel = load();
    return *entry.kernel;
  }

  // Unloads the kernels of a context. Nobody else may use the object any more.
  void unload_context(std::uint64_t context) {
    std::erase_if(entries_, [&](const auto& one) { return one.first.context == context; });
  }
  // Calls `visit(kernel)` for all that are loaded. Nobody else may use the object any more.
  template <typename Visit>
  void visit_loaded(Visit visit) {
    for (auto& [key, entry] : entries_) {
      if (entry.kernel) visit(*entry.kernel);
    }
  }

 private:
  struct Entry {
    std::mutex loading;
    std::unique_ptr<Loaded> kernel;
  };

  Entry& entry_of(const KernelKey& key) {
    const std::lock_guard lock(entries_mutex_);
    return entries_[key];
  }

  std::mutex entries_mutex_;
  std::map<KernelKey, Entry> entries_;
};

}  // namespace autotune
