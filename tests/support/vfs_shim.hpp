// SQLite's file system with a test in between, which sees every change to a file before it is made.
#pragma once

#include <memory>
#include <string_view>

namespace autotune::test {

struct FileChange {
  enum class Kind { open, write, truncate, sync, lock, remove };
  Kind kind;
  std::string_view path;
  bool makes_file = false;        // open
  long long at = 0;               // write: where; truncate: the new size
  std::string_view data = {};     // write
  bool folder_is_synced = false;  // remove
};

// While it lives, every file that SQLite opens goes through it. One at a time.
class VfsShim {
 public:
  VfsShim();
  virtual ~VfsShim();
  VfsShim(const VfsShim&) = delete;
  VfsShim& operator=(const VfsShim&) = delete;

  // Called before each change: with another code than SQLITE_OK that is what SQLite gets in its
  // place. Unlocking and closing are not changes.
  virtual int before(const FileChange& change) = 0;

 private:
  struct FileSystem;
  std::unique_ptr<FileSystem> file_system_;
};

}  // namespace autotune::test
