// Databases beside which, or in whose folders, other users put files.
#include <numeric>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/cubin_store.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

fs::path file_with_winner(const TemporaryFolder& folder, double median_us = 100) {
  const fs::path path = folder / "some.db";
  TuningDatabase::open(path).put_winners(std::vector{some_winner(1024, median_us)});
  return path;
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

const std::string kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

// A journal that makes a database of as many pages equal to `pages`: SQLite takes it for that of a
// killed writer. With a name it says that the file of this name is to be deleted.
std::string journal_of(const std::string& pages, const std::string& super_journal = {}) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kSector = 512;
  const auto count = static_cast<std::uint32_t>(pages.size() / kPage);
  std::string journal = kMagic + big_endian(count) + big_endian(0) + big_endian(count) +
                        big_endian(kSector) + big_endian(kPage);
  journal.resize(kSector);
  for (std::uint32_t number = 0; number < count; ++number) {
    const std::string page = pages.substr(number * kPage, kPage);
    std::uint32_t sum = 0;
    for (std::size_t at = kPage - 200; at > 0 && at < kPage; at -= 200) {
      sum += static_cast<unsigned char>(page[at]);
    }
    journal += big_endian(number + 1) + page + big_endian(sum);
  }
  if (super_journal.empty()) return journal;
  const auto sum = std::accumulate(super_journal.begin(), super_journal.end(), std::uint32_t{0});
  constexpr std::uint32_t kLockPage = 0x40000000 / kPage + 1;
  return journal + big_endian(kLockPage) + super_journal +
         big_endian(static_cast<std::uint32_t>(super_journal.size())) + big_endian(sum) + kMagic;
}

// The bytes of a database with a winner that is faster than that of file_with_winner().
std::string faster() {
  const TemporaryFolder folder;
  return bytes_of(file_with_winner(folder, 1));
}

std::string error_of_reading(const fs::path& path) {
  return storage_error([&] { static_cast<void>(TuningDatabase::open_read_only(path)); });
}
std::string error_of_writing(const fs::path& path) {
  return storage_error([&] { TuningDatabase::open(path); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("trust") {
  TEST_CASE("the journal of a killed writer is rolled back, whoever reads first") {
    const TemporaryFolder folder;
    const fs::path path = file_with_winner(folder);
    write_bytes(path.string() + "-journal", journal_of(faster()));
    CHECK(TuningDatabase::open_read_only(path)->winners({})[0].median_us == 1);
    CHECK_FALSE(fs::exists(path.string() + "-journal"));
  }

  TEST_CASE("a journal that names another file is refused, and the file stays") {
    const TemporaryFolder folder;
    const fs::path path = file_with_winner(folder);
    const std::string before = bytes_of(path);
    write_bytes(folder / "precious", "");
    write_bytes(path.string() + "-journal", journal_of(faster(), folder / "precious"));
    auto own = TuningDatabase::in_memory();
    for (const std::string& message : {error_of_reading(path), error_of_writing(path),
                                       storage_error([&] { own.merge(path); })}) {
      CHECK(has(message, path.string() + "-journal: names another file"));
    }
    CHECK(fs::exists(folder / "precious"));
    CHECK(bytes_of(path) == before);
  }

  TEST_CASE("a journal that is a pipe, a link or a second name of a file is refused at once") {
    const TemporaryFolder folder;
    const fs::path path = file_with_winner(folder);
    const fs::path journal = path.string() + "-journal";
    REQUIRE(::mkfifo(journal.c_str(), 0600) == 0);
    CHECK(has(error_of_reading(path), journal.string() + ": is not a regular file"));
    CHECK(has(error_of_writing(path), journal.string() + ": is not a regular file"));
    fs::remove(journal);
    write_bytes(folder / "mine", journal_of(faster()));
    fs::create_symlink(folder / "mine", journal);
    CHECK(has(error_of_reading(path), journal.string() + ": is not a regular file"));
    fs::remove(journal);
    fs::create_hard_link(folder / "mine", journal);
    CHECK(has(error_of_writing(path), journal.string() + ": is another user's"));
    fs::remove(journal);
    CHECK(TuningDatabase::open(path).winners({})[0].median_us == 100);
  }

  // A backup of hard links (cp -al) is read as any other; only writing needs the file's one
  // journal.
  TEST_CASE("a database with two names is read by both and written by none") {
    const TemporaryFolder folder;
    const fs::path path = file_with_winner(folder);
    const fs::path backup = folder / "backup.db";
    fs::create_hard_link(path, backup);
    const std::string before = bytes_of(path);
    for (const fs::path& name : {path, backup}) {
      CHECK(TuningDatabase::open_read_only(name)->winners({})[0].median_us == 100);
      CHECK(has(error_of_writing(name), name.string() + ": has other names (hard links), so that"));
    }
    // Its journal is not rolled back either, which would write to the backup.
    const fs::path journal = path.string() + "-journal";
    write_bytes(journal, journal_of(faster()));
    CHECK(has(error_of_reading(path), "a writer was killed, and the file has other names"));
    CHECK(bytes_of(backup) == before);
    fs::remove(backup);
    CHECK(TuningDatabase::open(path).winners({})[0].median_us == 1);
  }

  // Whoever can make files in /tmp can make this one, also while the database is open.
  TEST_CASE("another user's journal changes nothing") {
    if (::geteuid() != 0) {
      MESSAGE("SKIPPED: only root can make files of another user");
      return;
    }
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms(01777));
    const fs::path path = file_with_winner(folder);
    const std::string before = bytes_of(path);
    auto database = TuningDatabase::open(path);
    for (const char* end : {"-journal", "-wal"}) {
      const fs::path beside = path.string() + end;
      for (const std::string& content : {journal_of(faster()), std::string(512, '\0')}) {
        write_bytes(beside, content);
        give_to_nobody({beside});
        const std::string message =
            storage_error([&] { database.put_winners(std::vector{some_winner(2048, 7)}); });
        CHECK(has(message, beside.string() + ": is another user's"));
      }
      CHECK(has(error_of_writing(path), beside.string() + ": is another user's"));
      CHECK(bytes_of(path) == before);
      fs::remove(beside);
    }
    CHECK(database.winners({}).size() == 1);
  }

  TEST_CASE("a database is written only where other users can change nothing") {
    const TemporaryFolder folder;
    const auto error_in = [&](const char* name, int mode, bool is_foreign = false) {
      fs::create_directory(folder / name);
      fs::permissions(folder / name, fs::perms(mode));
      if (is_foreign) give_to_nobody({folder / name});
      return error_of_writing(folder / name / "deeper" / "a.db");
    };
    const std::string shared = error_in("shared", 0777);
    CHECK(has(shared, "other users can change the folder " + (folder / "shared").string()));
    CHECK_FALSE(fs::exists(folder / "shared" / "deeper"));
    CHECK(error_in("sticky", 01777) == "no error");
    CHECK(error_in("readable", 0755) == "no error");
    // A group of the user's number is the user's own.
    if (::getegid() == ::geteuid()) CHECK(error_in("group", 0775) == "no error");
    if (::geteuid() == 0) CHECK(has(error_in("foreign", 0755, true), "other users can change"));

    const fs::path path = file_with_winner(folder);
    fs::permissions(path, fs::perms(0666));
    CHECK(has(error_of_writing(path), "is another user's, or writable by others"));
    CHECK(error_of_reading(path) == "no error");
  }

  TEST_CASE("compiled kernels are not kept where other users can change something") {
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms(0777));
    const auto store = CubinStore::open(folder / "cubins.db");
    CHECK(has(store.problem(), "other users can change the folder"));
    CHECK_FALSE(fs::exists(folder / "cubins.db"));
  }
}
