// Files of older and newer schemas, with made-up migrations.
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db/connection.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

constexpr EmbeddedFile kSteps[] = {
    {"0001.sql", "CREATE TABLE t (a INTEGER NOT NULL) STRICT; INSERT INTO t VALUES (1)"},
    {"0002.sql", "ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'old'"},
    {"0003.sql", "INSERT INTO t VALUES (3, 'new')"}};
constexpr EmbeddedFile kBrokenSteps[] = {
    kSteps[0], {"0002.sql", "INSERT INTO t VALUES (2); INSERT INTO nowhere VALUES (2)"}};

FileKind kind_of(std::span<const EmbeddedFile> migrations) {
  return {.name = "test file",
          .application_id = 77,
          .migrations = migrations,
          .busy_timeout = std::chrono::seconds(15)};
}

// A database of the program whose newest migration was the `version`-th.
FileKind version(std::size_t version) {
  return kind_of(std::span(kSteps).first(version));
}

std::string rows_of(SQLite::Database& database) {
  return database.execAndGet("SELECT group_concat(a || b) FROM t").getString();
}

int version_of(SQLite::Database& database) {
  return database.execAndGet("PRAGMA user_version").getInt();
}

}  // namespace

TEST_SUITE("migrations") {
  TEST_CASE("an older file is brought up to date and keeps its rows") {
    const TemporaryFolder folder;
    for (const std::size_t from : {1U, 2U, 3U}) {
      const fs::path path = folder / (std::to_string(from) + ".db");
      static_cast<void>(open_file(path, version(from)));
      for (int i = 0; i < 2; ++i) {
        SQLite::Database database = open_file(path, version(3));
        CHECK(rows_of(database) == "1old,3new");
        CHECK(version_of(database) == 3);
      }
    }
  }

  TEST_CASE("a step that fails leaves the file as it was") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    static_cast<void>(open_file(path, version(1)));
    const std::string before = bytes_of(path);
    const std::string message =
        storage_error([&] { static_cast<void>(open_file(path, kind_of(kBrokenSteps))); });
    CHECK(message == path.string() +
                         ": has other tables than autotune makes (no such table: nowhere): "
                         "name another file, or move it away");
    CHECK(bytes_of(path) == before);
    SQLite::Database database = open_file(path, version(3));
    CHECK(rows_of(database) == "1old,3new");
  }

  TEST_CASE("an older file that is opened for reading is read as if it were up to date") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    static_cast<void>(open_file(path, version(1)));
    const std::string before = bytes_of(path);
    for (int i = 0; i < 2; ++i) {
      auto database = open_file_read_only(path, version(3));
      REQUIRE(database);
      CHECK(rows_of(*database) == "1old,3new");
      CHECK(version_of(*database) == 3);
    }
    CHECK(bytes_of(path) == before);
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no other file
    CHECK(storage_error([&] {
            static_cast<void>(open_file_read_only(path, kind_of(kBrokenSteps)));
          }) == path.string() +
                    ": has other tables than autotune makes (no such table: nowhere): "
                    "name another file, or move it away");
    CHECK(open_file_read_only(path, version(1)));
  }

  TEST_CASE("a newer file is left to the newer program") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    static_cast<void>(open_file(path, version(3)));
    const std::string before = bytes_of(path);
    const std::string refused = path.string() +
                                ": was made by a newer autotune (schema 3, this one knows 2): use"
                                " that one, or name another file";
    CHECK(storage_error([&] { static_cast<void>(open_file(path, version(2))); }) == refused);
    CHECK(storage_error([&] { static_cast<void>(open_file_read_only(path, version(2))); }) ==
          refused);
    CHECK(bytes_of(path) == before);
  }

  TEST_CASE("processes that meet an older file run each step once") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    static_cast<void>(open_file(path, version(1)));
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 6; ++process) {
      children.push_back(std::make_unique<Child>([&](Child& self) {
        self.wait_for_parent();
        SQLite::Database database = open_file(path, version(3));
        self.say(rows_of(database));
      }));
    }
    for (const auto& child : children) child->go_on();
    for (const auto& child : children) {
      CHECK(child->next_line() == "1old,3new");
      CHECK(child->finished_well());
    }
  }

  TEST_CASE("a reader finds the same rows before, while and after the file is brought up to date") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    static_cast<void>(open_file(path, version(1)));
    std::vector<std::unique_ptr<Child>> readers;
    for (int process = 0; process < 6; ++process) {
      readers.push_back(std::make_unique<Child>([&](Child& self) {
        self.say("ready");
        for (int i = 0; i < 30; ++i) {
          auto database = open_file_read_only(path, version(3));
          if (rows_of(*database) != "1old,3new") throw std::runtime_error(rows_of(*database));
        }
      }));
    }
    for (const auto& reader : readers) CHECK(reader->next_line() == "ready");
    static_cast<void>(open_file(path, version(3)));
    for (const auto& reader : readers) {
      CHECK(reader->next_line() == "");
      CHECK(reader->finished_well());
    }
  }
}
