#include "gpu/shared_library.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "core/posix/no_fork.hpp"

namespace autotune::gpu {

std::vector<std::string> toolkit_folders() {
  const std::filesystem::path root = "/usr/local";
  std::vector<std::string> versions;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) {
    std::string name = entry.path().filename();
    if (name.rfind("cuda-", 0) == 0) versions.push_back(std::move(name));
  }
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) > 0;
  });
  versions.insert(versions.begin(), "cuda");
  for (std::string& name : versions) name = root / name / "lib64";
  return versions;
}

std::optional<SharedLibrary> SharedLibrary::open(const std::string& name, std::string* problem) {
  const NoFork until_loaded;
  // Drivers and compilers are not made to be unloaded: they leave threads and memory behind.
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) return SharedLibrary(handle);
  const char* reason = ::dlerror();
  if (problem != nullptr) {
    *problem = reason != nullptr ? reason : "cannot open " + name;
    // One that it needs may be what is not there.
    const bool is_absent = problem->starts_with(name + ": ") &&
                           problem->find("No such file or directory") != std::string::npos;
    if (is_absent) *problem = name + " was not found";
  }
  return std::nullopt;
}

std::optional<SharedLibrary> SharedLibrary::open_first(const std::vector<std::string>& names,
                                                       std::string* problem) {
  for (const std::string& name : names) {
    if (std::optional<SharedLibrary> library = open(name, problem)) return library;
  }
  return std::nullopt;
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* SharedLibrary::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

}  // namespace autotune::gpu
