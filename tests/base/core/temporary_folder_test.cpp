// The folder for temporary files, by the environment.
#include "core/posix/temporary_folder.hpp"

#include <cstdlib>
#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace autotune {
namespace {

// Sets TMPDIR for as long as it lives.
class Setting {
 public:
  explicit Setting(const char* value) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", value, 1);
  }
  ~Setting() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST_SUITE("temporary folder") {
  TEST_CASE("an empty TMPDIR is as none, and one that is no folder is an error") {
    std::error_code error;
    {
      const Setting empty("");
      CHECK(temporary_folder(error) == "/tmp");
      CHECK_FALSE(error);
    }
    {
      const Setting other("/proc");
      CHECK(temporary_folder(error) == "/proc");
      CHECK_FALSE(error);
    }
    for (const char* name : {"/nonexistent", "/dev/null"}) {
      const Setting wrong(name);
      static_cast<void>(temporary_folder(error));
      CHECK(error);
    }
  }
}

}  // namespace
}  // namespace autotune
