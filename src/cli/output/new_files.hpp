// Files that a command writes to a folder: all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace autotune {

class NewFiles {
 public:
  // Files that are there and begin with `mark` may be replaced, others only with `force`. Throws
  // UsageError for a folder that is a file. Messages name the option that gave the folder.
  NewFiles(const std::string& folder, std::string_view mark, bool force,
           std::string option = "--output");
  // Removes what was not committed.
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // Throws UsageError where a file of that name may not be replaced, StorageError where it cannot.
  void check(const std::string& name) const;
  // Throws what check() throws.
  void add(const std::string& name, std::string text);
  // Writes all of them, then gives them their names. Throws StorageError where they cannot be
  // written.
  void commit();

  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ / name; }

 private:
  struct File {
    std::string name;
    std::string text;
  };
  [[nodiscard]] std::filesystem::path temporary(const File& file) const;
  void write(const std::filesystem::path& path, const std::string& text) const;
  [[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) const;

  std::filesystem::path folder_;
  std::string mark_;
  bool force_;
  std::string option_;
  std::string suffix_;  // of temporary names; one that nobody guesses
  std::vector<File> files_;
};

}  // namespace autotune
