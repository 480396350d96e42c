#include "cpu/loaded_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "core/posix/no_fork.hpp"
#include "cpu/compiler.hpp"

namespace autotune {
namespace {

FileDescriptor memory_file(const std::string& bytes) {
  FileDescriptor file(memfd_create("autotune-kernel", MFD_CLOEXEC));
  if (file.get() < 0)
    throw EnvironmentError("no memory for a compiled kernel: memfd_create failed");
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = write(file.get(), bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw EnvironmentError("no memory for a compiled kernel: writing it failed");
    written += static_cast<std::size_t>(count);
  }
  return file;
}

// Returns whether the loader says that this process or the machine lacks something, and not that
// the image is unfit. The loader has no error codes.
bool is_lack(const std::string& message) {
  const char* const lacks[] = {std::strerror(ENOMEM),   std::strerror(EMFILE),
                               std::strerror(ENFILE),   "cannot allocate",
                               "failed to map segment", "cannot map zero-fill"};
  return std::any_of(std::begin(lacks), std::end(lacks),
                     [&](const char* lack) { return message.find(lack) != std::string::npos; });
}

}  // namespace

// The file stays open as long as the library is loaded: the loader identifies libraries by their
// path, and the path of an open descriptor is unique.
LoadedKernel::LoadedKernel(const std::string& image, const std::string& name)
    : file_(memory_file(image)) {
  const NoFork until_loaded;
  library_ = dlopen(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const std::string why = dlerror();
    if (is_lack(why)) throw EnvironmentError("a compiled kernel cannot be loaded: " + why);
    throw Error("the compiled kernel cannot be loaded: " + why);
  }
  auto* const call = reinterpret_cast<void (*)(void**)>(
      dlsym(library_, (std::string(kCallPrefix) + name).c_str()));
  auto* const state =
      reinterpret_cast<autotune_block_state* (*)()>(dlsym(library_, "autotune_kernel_state"));
  if (call == nullptr || state == nullptr) {
    dlclose(library_);
    throw Error(fmt::format("the compiled image has no kernel named {}", name));
  }
  entry_ = {call, state()};
}

LoadedKernel::~LoadedKernel() {
  const NoFork until_done;
  dlclose(library_);
}

}  // namespace autotune
