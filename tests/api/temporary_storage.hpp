// A database and a cubin store of a test's own, named by the environment as a user would.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/run_program.hpp"

namespace autotune::test {

// Has a value of its own as long as it lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class TemporaryStorage {
 public:
  [[nodiscard]] std::string database() const { return folder_.path() / "autotune.db"; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  EnvironmentVariable database_{"AUTOTUNE_DB", database()};
  EnvironmentVariable cache_{"XDG_CACHE_HOME", folder_.path() / "cache"};
};

}  // namespace autotune::test
