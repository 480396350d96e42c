// The kernels that were loaded last, so that finals and further sizes do not load them again. For
// one thread at a time, always with the same context current.
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "core/hash.hpp"
#include "gpu/module.hpp"

namespace autotune {

class ModuleCache {
 public:
  explicit ModuleCache(const gpu::Driver& driver) : driver_(driver) {}

  // Returns the kernel of that name in an image, valid until the next call. Throws Error when the
  // driver does not load it.
  gpu::Kernel load(const std::string& image, const std::string& name) {
    const std::string key = content_hash(image) + name;
    for (auto entry = used_.begin(); entry != used_.end(); ++entry) {
      if (entry->key != key) continue;
      used_.splice(used_.begin(), used_, entry);
      return used_.front().kernel;
    }
    used_.emplace_front(driver_, image, name, key);
    if (used_.size() > kMost) used_.pop_back();
    return used_.front().kernel;
  }

 private:
  static constexpr std::size_t kMost = 64;

  struct Entry {
    Entry(const gpu::Driver& driver, const std::string& image, const std::string& name,
          std::string key_)
        : key(std::move(key_)), module(driver, image), kernel(module.kernel(name)) {}
    std::string key;
    gpu::Module module;
    gpu::Kernel kernel;
  };

  const gpu::Driver& driver_;
  std::list<Entry> used_;  // the last used one first
};

}  // namespace autotune
