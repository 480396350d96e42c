// A database of schema 1, as version 0.1 made it on a CPU and on a made-up GPU, and what it holds.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "db_fixture.hpp"

namespace autotune::test {

// The content of a database of schema 1, in a form that both schemas can be compared in.
struct Content {
  std::multiset<std::string> trials;
  std::multiset<std::string> winners;
  std::multiset<std::string> runs;
  std::multiset<std::string> completed;
  std::multiset<std::string> rates;

  bool operator==(const Content&) const = default;
};

// Makes the file in the folder.
[[nodiscard]] std::filesystem::path file_of_schema_1(const TemporaryFolder& folder,
                                                     const std::string& name = "old.db");

// Each row of a query as one line, with '#' behind every column.
[[nodiscard]] std::vector<std::string> rows_of(const std::filesystem::path& path,
                                               const std::string& query);

// The content of the old file's tables.
[[nodiscard]] Content content_of_schema_1(const std::filesystem::path& path);

// The answers of a database. Keys of requests are not listed there, so a file of schema 1 says
// which to ask for.
[[nodiscard]] Content content_of(const TuningDatabase& database,
                                 const std::filesystem::path& schema_1);

}  // namespace autotune::test
