// A shared library opened at run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace autotune::gpu {

// The toolkit's usual folders of libraries: /usr/local/cuda first, then those that name their
// version, the newest first.
[[nodiscard]] std::vector<std::string> toolkit_folders();

// Move-only. Once opened, a library stays loaded to the end of the process.
class SharedLibrary {
 public:
  // nullopt when the loader cannot open it; `problem` then says why.
  static std::optional<SharedLibrary> open(const std::string& name, std::string* problem = nullptr);
  // The first of several names that opens.
  static std::optional<SharedLibrary> open_first(const std::vector<std::string>& names,
                                                 std::string* problem = nullptr);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary();

  // nullptr when there is none of that name.
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
