#include "tests/support/vfs_shim.hpp"

#include <sqlite3.h>

namespace autotune::test {

// The functions that SQLite calls find this object in the application data of `shim`.
struct VfsShim::FileSystem {
  VfsShim* owner;
  sqlite3_vfs* real;
  sqlite3_vfs shim;
};

namespace {

using Kind = FileChange::Kind;

// A file of the real file system lies right behind it in memory.
struct ShimFile {
  sqlite3_file base;
  VfsShim* shim;
  const char* path;  // SQLite keeps it until the file is closed

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

ShimFile& shim_file(sqlite3_file* file) {
  return *reinterpret_cast<ShimFile*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return shim_file(file).real();
}

int announce(sqlite3_file* file, FileChange change) {
  const ShimFile& self = shim_file(file);
  change.path = self.path != nullptr ? self.path : "";
  return self.shim->before(change);
}

int shim_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  const std::string_view bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
  const int code = announce(file, {.kind = Kind::write, .path = {}, .at = at, .data = bytes});
  return code != SQLITE_OK ? code : real(file)->pMethods->xWrite(real(file), data, size, at);
}
int shim_truncate(sqlite3_file* file, sqlite3_int64 size) {
  const int code = announce(file, {.kind = Kind::truncate, .path = {}, .at = size});
  return code != SQLITE_OK ? code : real(file)->pMethods->xTruncate(real(file), size);
}
// The real file is not synced: power stays on, and waiting for disks would take most of the time.
int shim_sync(sqlite3_file* file, int) {
  return announce(file, {.kind = Kind::sync, .path = {}});
}
int shim_lock(sqlite3_file* file, int lock) {
  const int code = announce(file, {.kind = Kind::lock, .path = {}});
  return code != SQLITE_OK ? code : real(file)->pMethods->xLock(real(file), lock);
}

const sqlite3_io_methods kMethods = {
    1,
    [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
    [](sqlite3_file* f, void* data, int size, sqlite3_int64 at) {
      return real(f)->pMethods->xRead(real(f), data, size, at);
    },
    shim_write,
    shim_truncate,
    shim_sync,
    [](sqlite3_file* f, sqlite3_int64* size) {
      return real(f)->pMethods->xFileSize(real(f), size);
    },
    shim_lock,
    [](sqlite3_file* f, int lock) { return real(f)->pMethods->xUnlock(real(f), lock); },
    [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
    [](sqlite3_file* f, int op, void* arg) {
      return real(f)->pMethods->xFileControl(real(f), op, arg);
    },
    [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr};

}  // namespace

VfsShim::VfsShim()
    : file_system_(new FileSystem{this, sqlite3_vfs_find(nullptr), *sqlite3_vfs_find(nullptr)}) {
  sqlite3_vfs& shim = file_system_->shim;
  shim.pNext = nullptr;
  shim.zName = "shim";
  shim.szOsFile += static_cast<int>(sizeof(ShimFile));
  shim.pAppData = file_system_.get();
  shim.xOpen = [](sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                  int* out_flags) {
    const auto& self = *static_cast<const FileSystem*>(vfs->pAppData);
    shim_file(file) = {.base = {.pMethods = nullptr}, .shim = self.owner, .path = path};
    const bool makes_file = (flags & SQLITE_OPEN_CREATE) != 0;
    int code = announce(file, {.kind = Kind::open, .path = {}, .makes_file = makes_file});
    if (code != SQLITE_OK) return code;
    code = self.real->xOpen(self.real, path, real(file), flags, out_flags);
    if (real(file)->pMethods != nullptr) file->pMethods = &kMethods;
    return code;
  };
  shim.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_folder) {
    const auto& self = *static_cast<const FileSystem*>(vfs->pAppData);
    const int code = self.owner->before(
        {.kind = Kind::remove, .path = path, .folder_is_synced = sync_folder != 0});
    return code != SQLITE_OK ? code : self.real->xDelete(self.real, path, 0);
  };
  sqlite3_vfs_register(&shim, 1);
}

VfsShim::~VfsShim() {
  sqlite3_vfs_unregister(&file_system_->shim);
  sqlite3_vfs_register(file_system_->real, 1);
}

}  // namespace autotune::test
