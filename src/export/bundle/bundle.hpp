// A file of compiled kernels for one kind of device, and of the problems that they were chosen for.
// With it an application runs without a compiler and without a database.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/bundle/bundle_format.hpp"

namespace autotune {

// Immutable, so thread-safe. It holds the file's bytes: what becomes of the file does not matter.
class Bundle {
 public:
  // Reads a file as a whole, and checks all of it but the kernels. Throws StorageError, with the
  // path, for a file that cannot be read, is no bundle, is damaged, or was written by another
  // version of the library.
  explicit Bundle(const std::string& path);
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const BundleTarget& target() const { return index_.target; }
  // The build of the compiler that made the kernels.
  [[nodiscard]] const std::string& compiler() const { return index_.compiler; }
  [[nodiscard]] const std::vector<BundledChoice>& choices() const { return index_.choices; }
  [[nodiscard]] std::size_t kernels() const { return index_.kernels.size(); }

  [[nodiscard]] bool has(const std::string& key) const { return places_.contains(key); }
  // The cubin of a key that it has. Throws StorageError when its bytes are not those that were
  // written.
  [[nodiscard]] std::string cubin(const std::string& key) const;

 private:
  struct Place {
    std::size_t at = 0;  // in file_
    const BundleIndex::Kernel* kernel = nullptr;
  };
  std::string path_;
  std::string file_;
  BundleIndex index_;
  std::map<std::string, Place> places_;
};

}  // namespace autotune
