// The files that commands write, for --output and --bundle: all files of a command or none, and
// none in the place of a file that is not of the command's own kind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace autotune {

struct OutputRule {
  std::string option = "--output";       // in messages
  std::vector<std::string_view> begins;  // the command's own files begin with one of these
  std::string read = {};       // a file that the command reads; "-": standard input; empty: none
  std::optional<bool> force;   // whether --force is given; empty: the command does not have it
  bool streams = true;         // false: pipes and devices are refused
  bool makes_folders = false;  // of its files, where they are missing
};

class OutputFiles {
 public:
  explicit OutputFiles(OutputRule rule) : rule_(std::move(rule)) {}
  // Removes what was not committed.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Throws UsageError for a file that may not be replaced, StorageError for one that cannot be. An
  // empty path means standard output.
  void check(const std::string& path) const;
  // Throws what check() throws.
  void add(const std::string& path, std::string bytes);
  // Writes all files, then gives them their names. Throws StorageError for a file that cannot be
  // written; it names the files that were written before that one.
  void commit();

 private:
  struct File {
    std::string path;  // as it was given
    std::string bytes;
    std::filesystem::path target;  // behind links; empty: standard output
    std::optional<mode_t> mode;    // of the file that is replaced
    bool in_place = false;         // written without a temporary file
    std::filesystem::path temporary = {};
  };
  // Finds where a file goes, and throws what check() throws.
  [[nodiscard]] File place_of(const std::string& path) const;
  void check_not_planted(const std::string& path) const;
  // The status of the file that a path leads to. Throws what check() throws for a kind of file that
  // is not written to.
  [[nodiscard]] struct stat status_of(const std::string& path) const;
  // Has a file that is a link, and leads to `found`, written where it leads, so that the link
  // stays. A path in /proc need not lead where it says.
  static void follow(File& file, const struct stat& found);
  void check_replaced(const std::string& path, bool any) const;
  void prepare(File& file) const;
  void finish(File& file) const;
  [[noreturn]] void fail(const std::string& path, int error) const;
  [[noreturn]] void refuse(const std::string& path, const std::string& why) const;

  OutputRule rule_;
  std::vector<File> files_;
};

// Writes one file, or to standard output, by a rule. `what` was written ("12 trials"), as a line on
// standard error says of a file. Throws what OutputFiles throws.
void write_output(const OutputRule& rule, const std::string& path, const std::string& bytes,
                  const std::string& what);

}  // namespace autotune
