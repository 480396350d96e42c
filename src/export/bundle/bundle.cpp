#include "export/bundle/bundle.hpp"

#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/compression.hpp"
#include "core/posix/file_descriptor.hpp"

namespace autotune {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw StorageError(fmt::format("bundle {}: {}", path, why));
}

std::string read_file(const std::string& path) {
  const auto fail = [&] { refuse(path, std::string("cannot be read: ") + std::strerror(errno)); };
  // Without O_NONBLOCK a pipe would be waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) fail();
  if (!S_ISREG(found.st_mode)) refuse(path, "is not a file");
  if (static_cast<std::uint64_t>(found.st_size) > kMostBundleBytes) refuse(path, "is too large");
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) break;  // it was cut meanwhile
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

Bundle::Bundle(const std::string& path) : path_(path), file_(read_file(path)) {
  std::size_t at = 0;
  try {
    BundleHead head = read_bundle_head(file_);
    index_ = std::move(head.index);
    at = head.bytes;
  } catch (const StorageError& error) {
    refuse(path, error.what());
  }
  if (index_.version != kVersion) {
    refuse(path, fmt::format("was written by autotune {}, and this is {}: export it anew",
                             index_.version, kVersion));
  }
  for (const BundleIndex::Kernel& kernel : index_.kernels) {
    if (!places_.try_emplace(kernel.key, Place{at, &kernel}).second) {
      refuse(path, "is damaged: it has a kernel twice");
    }
    at += kernel.bytes;
  }
}

std::string Bundle::cubin(const std::string& key) const {
  const auto& [at, kernel] = places_.at(key);
  const std::string_view packed = std::string_view(file_).substr(at, kernel->bytes);
  if (bundled_kernel_hash(key, packed) == kernel->hash) {
    std::optional<std::string> plain = decompressed(packed, kernel->plain_bytes);
    if (plain && plain->size() == kernel->plain_bytes) return *std::move(plain);
  }
  refuse(path_, "is damaged: a kernel is not what was written");
}

}  // namespace autotune
