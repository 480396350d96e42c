// A shared library opened at run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace autotune::gpu {

// The toolkit's usual folders of libraries: first those in /usr/local/cuda, then those in folders
// with a version in their name, the newest first.
[[nodiscard]] std::vector<std::string> toolkit_folders();

// Move-only. Once opened, a library stays loaded to the end of the process.
class SharedLibrary {
 public:
  // Returns nullopt when the loader cannot open the library; `problem` then says why.
  static std::optional<SharedLibrary> open(const std::string& name, std::string* problem = nullptr);
  // Opens the first of several names that can be opened.
  static std::optional<SharedLibrary> open_first(const std::vector<std::string>& names,
                                                 std::string* problem = nullptr);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary();

  // Returns nullptr for a name that the library lacks.
  [[nodiscard]] void* symbol(const char* name) const;
  template <typename Function>
  [[nodiscard]] Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }
  // The file that was loaded.
  [[nodiscard]] std::string path() const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace autotune::gpu
