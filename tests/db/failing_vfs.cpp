#include "failing_vfs.hpp"

#include <sqlite3.h>

namespace autotune::test {
namespace {

// SQLite calls plain functions, so the state of the one shim is here.
struct State {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs shim{};
  int first = 0;
  int code = 0;
  bool stays = false;
  int changes = 0;
  int failures = 0;
};
State state;

int fault() {
  ++state.changes;
  if (state.changes < state.first || (!state.stays && state.changes > state.first))
    return SQLITE_OK;
  ++state.failures;
  return state.code;
}

// A file of the real file system lies right behind it in memory.
struct ShimFile {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<ShimFile*>(file)->real();
}

int shim_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  if (const int code = fault(); code != SQLITE_OK) return code;
  return real(file)->pMethods->xWrite(real(file), data, size, at);
}
int shim_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = fault(); code != SQLITE_OK) return code;
  return real(file)->pMethods->xTruncate(real(file), size);
}
int shim_sync(sqlite3_file* file, int flags) {
  if (const int code = fault(); code != SQLITE_OK) return code;
  return real(file)->pMethods->xSync(real(file), flags);
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
    [](sqlite3_file* f, int lock) { return real(f)->pMethods->xLock(real(f), lock); },
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

int shim_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  const bool is_journal = (flags & SQLITE_OPEN_MAIN_JOURNAL) != 0;
  if (const int code = is_journal ? fault() : SQLITE_OK; code != SQLITE_OK) return code;
  const int code = state.real->xOpen(state.real, name, real(file), flags, out_flags);
  if (real(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}

int shim_delete(sqlite3_vfs*, const char* name, int sync_folder) {
  if (const int code = fault(); code != SQLITE_OK) return code;
  return state.real->xDelete(state.real, name, sync_folder);
}

}  // namespace

FailingVfs::FailingVfs(int first, int code, bool stays) {
  state = {.real = sqlite3_vfs_find(nullptr), .first = first, .code = code, .stays = stays};
  state.shim = *state.real;
  state.shim.pNext = nullptr;
  state.shim.zName = "failing";
  state.shim.szOsFile = static_cast<int>(sizeof(ShimFile)) + state.real->szOsFile;
  state.shim.xOpen = shim_open;
  state.shim.xDelete = shim_delete;
  sqlite3_vfs_register(&state.shim, 1);
}

FailingVfs::~FailingVfs() {
  sqlite3_vfs_unregister(&state.shim);
  sqlite3_vfs_register(state.real, 1);
}

int FailingVfs::failures() const {
  return state.failures;
}

}  // namespace autotune::test
