#include "db/cubin_store.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// Bytes that do not compress.
std::string noise(int seed, std::size_t size) {
  std::string bytes;
  std::uint64_t x = static_cast<std::uint64_t>(seed) * 2654435761U + 1;
  while (bytes.size() < size) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    bytes += static_cast<char>(x >> 56);
  }
  return bytes;
}

StoredCubin some_cubin(int number, std::size_t size = 3000) {
  return {noise(number, size),
          "ptxas info: \xff " + std::to_string(number),
          {.registers = number, .spill_bytes = 0, .compile_ms = 12.5}};
}

std::string key(int number) {
  return "key " + std::to_string(number);
}

bool same(const std::optional<StoredCubin>& found, const StoredCubin& wanted) {
  return found && found->cubin == wanted.cubin && found->log == wanted.log &&
         found->resources == wanted.resources;
}

bool holds(CubinStore& store, int number, std::size_t size = 3000) {
  return same(store.find(key(number)), some_cubin(number, size));
}

// Makes a store of `count` entries and closes it.
fs::path some_store(const TemporaryFolder& folder, int count) {
  const fs::path path = folder / "cubins.db";
  auto store = CubinStore::open(path);
  for (int i = 0; i < count; ++i) store.put(key(i), some_cubin(i));
  return path;
}

// For as long as it lives, files that are opened wait for locks without sleeping. It adds up how
// long SQLite asks to sleep.
class SleepCounter {
 public:
  SleepCounter() : usual_(sqlite3_vfs_find(nullptr)), counting_(*usual_) {
    counting_.zName = "counts-sleeps";
    counting_.pNext = nullptr;
    counting_.xSleep = [](sqlite3_vfs*, int microseconds) {
      asked_ += std::chrono::microseconds(microseconds);
      return microseconds;
    };
    sqlite3_vfs_register(&counting_, 1);
  }
  ~SleepCounter() {
    sqlite3_vfs_unregister(&counting_);
    sqlite3_vfs_register(usual_, 1);
  }
  SleepCounter(const SleepCounter&) = delete;
  SleepCounter& operator=(const SleepCounter&) = delete;

  [[nodiscard]] std::chrono::microseconds asked() const { return asked_; }

 private:
  static inline std::chrono::microseconds asked_{};
  sqlite3_vfs* usual_;
  sqlite3_vfs counting_;
};

}  // namespace

TEST_SUITE("CubinStore") {
  TEST_CASE("an entry is found at once and after closing") {
    const TemporaryFolder folder;
    const fs::path path = folder / "sub" / "cubins.db";
    {
      auto store = CubinStore::open(path);
      CHECK_FALSE(store.find(key(1)));
      store.put(key(1), some_cubin(1));
      store.put(key(2), {"", "", {}});
      CHECK(holds(store, 1));
      store.put(key(1), some_cubin(7));
      CHECK(same(store.find(key(1)), some_cubin(7)));
    }
    auto store = CubinStore::open(path);
    CHECK(same(store.find(key(1)), some_cubin(7)));
    CHECK(same(store.find(key(2)), {"", "", {}}));
    CHECK(store.problem() == "");
    CHECK((fs::status(path).permissions() & fs::perms::mask) == fs::perms(0600));
  }

  TEST_CASE("a hit writes nothing") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 3);
    struct stat before {};
    REQUIRE(::stat(path.c_str(), &before) == 0);
    {
      auto store = CubinStore::open(path);
      for (int i = 0; i < 3; ++i) CHECK(holds(store, i));
    }
    struct stat after {};
    REQUIRE(::stat(path.c_str(), &after) == 0);
    CHECK(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK(after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
  }

  TEST_CASE("the least recently used go first and the size stays bounded") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 40);
    // All were used long ago, in the order of their numbers; then the first five again.
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE cubin SET used_at = 1000 + CAST(substr(key, 5) AS INTEGER)");
    {
      auto store = CubinStore::open(path);
      for (int i = 0; i < 5; ++i) CHECK(holds(store, i));
    }
    constexpr std::int64_t kLimit = 100'000;
    {
      auto store = CubinStore::open(path, kLimit);
      for (int i = 100; i < 110; ++i) store.put(key(i), some_cubin(i));
    }
    auto store = CubinStore::open(path, kLimit);
    for (int i = 0; i < 5; ++i) CHECK(holds(store, i));
    for (int i = 5; i < 15; ++i) {
      CAPTURE(i);
      CHECK_FALSE(store.find(key(i)));
    }
    for (int i = 100; i < 110; ++i) CHECK(holds(store, i));
    for (int i = 200; i < 600; ++i) store.put(key(i), some_cubin(i));
    CHECK(holds(store, 599));
    // The entries of one batch may exceed the limit.
    CHECK(fs::file_size(path) < 2 * kLimit + 64 * 4096);
  }

  TEST_CASE("an entry larger than the limit does no harm") {
    const TemporaryFolder folder;
    {
      auto store = CubinStore::open(folder / "a.db", 50'000);
      store.put(key(1), some_cubin(1, 100'000));
    }
    auto store = CubinStore::open(folder / "a.db", 50'000);
    CHECK_FALSE(store.find(key(1)));
    CHECK(store.problem() == "");
  }

  TEST_CASE("a damaged file is made anew") {
    const TemporaryFolder folder;
    const std::string damages[] = {"not a database at all, but long enough for its header",
                                   std::string(5000, '\0'), "SQLite format 3"};
    for (const std::string& damage : damages) {
      const fs::path path = folder / "cubins.db";
      write_bytes(path, damage);
      {
        auto store = CubinStore::open(path);
        CHECK_FALSE(store.find(key(1)));
        store.put(key(1), some_cubin(1));
        CHECK(store.problem() != "");
      }
      auto store = CubinStore::open(path);
      CHECK(holds(store, 1));
    }
  }

  TEST_CASE("a damaged page is a miss and the store works on") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 40);
    const std::string sound = bytes_of(path);
    for (std::size_t at = 16; at < sound.size(); at += 1531) {
      CAPTURE(at);
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
      write_bytes(path, bytes);
      auto store = CubinStore::open(path);
      for (int i = 0; i < 40; i += 3) {
        const auto found = store.find(key(i));
        if (found) CHECK(same(found, some_cubin(i)));
      }
    }
    for (std::size_t length = 1; length < sound.size(); length += 4096 * 3 + 77) {
      write_bytes(path, sound.substr(0, length));
      {
        auto store = CubinStore::open(path);
        store.put(key(1000), some_cubin(1000));
      }
      auto store = CubinStore::open(path);
      CHECK(holds(store, 1000));
    }
  }

  TEST_CASE("a file of a newer version or another program is left alone") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 1);
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
    const fs::path foreign = folder / "foreign.db";
    SQLite::Database(foreign.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec("CREATE TABLE t (a)");
    fs::permissions(foreign, fs::perms(0600));
    for (const fs::path& file : {path, foreign}) {
      const std::string before = bytes_of(file);
      {
        auto store = CubinStore::open(file);
        CHECK(store.problem().starts_with(file.string() + ": "));
        store.put(key(5), some_cubin(5));
        CHECK_FALSE(store.find(key(5)));
      }
      CHECK(bytes_of(file) == before);
    }
  }

  TEST_CASE("a file that others could have written is not trusted") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 1);
    fs::permissions(path, fs::perms(0666));
    auto store = CubinStore::open(path);
    CHECK_FALSE(store.find(key(0)));
    CHECK(store.problem().find("writable by others") != std::string::npos);
  }

  TEST_CASE("a store that cannot be opened serves as an empty one") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "folder.db");
    write_bytes(folder / "file", "");
    for (const fs::path& path : {folder / "folder.db", folder / "file" / "a.db"}) {
      auto store = CubinStore::open(path);
      store.put(key(1), some_cubin(1));
      CHECK_FALSE(store.find(key(1)));
      CHECK(store.problem().starts_with(path.string() + ": "));
    }
    auto disabled = CubinStore::disabled();
    disabled.put(key(1), some_cubin(1));
    CHECK_FALSE(disabled.find(key(1)));
    CHECK(disabled.problem() == "");
  }

  TEST_CASE("a file that is deleted under the handle is made anew") {
    const TemporaryFolder folder;
    const fs::path path = folder / "cubins.db";
    {
      auto store = CubinStore::open(path);
      fs::remove(path);
      for (int i = 0; i < 100; ++i) store.put(key(i), some_cubin(i));
    }
    auto store = CubinStore::open(path);
    for (int i = 0; i < 100; ++i) CHECK(holds(store, i));
  }

  TEST_CASE("a process that is stopped with its lock is waited for once, until a commit succeeds") {
    const TemporaryFolder folder;
    const fs::path path = some_store(folder, 3);
    const SleepCounter sleeps;
    auto store = CubinStore::open(path);
    SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
    const auto waited_for = [&] {
      const std::chrono::microseconds before = sleeps.asked();
      CHECK_FALSE(store.find(key(0)));
      return sleeps.asked() - before;
    };
    other.exec("BEGIN EXCLUSIVE");
    CHECK(waited_for() == std::chrono::seconds(2));
    CHECK(waited_for() == std::chrono::milliseconds(100));
    CHECK(waited_for() == std::chrono::milliseconds(100));
    other.exec("COMMIT");
    CHECK(holds(store, 0));
    constexpr int kBatch = 64;
    for (int i = 0; i < kBatch; ++i) store.put(key(100 + i), some_cubin(100 + i));
    auto committed = CubinStore::open(path);
    CHECK(holds(committed, 100 + kBatch - 1));
    other.exec("BEGIN EXCLUSIVE");
    CHECK(waited_for() == std::chrono::seconds(2));
    other.exec("COMMIT");
  }

  TEST_CASE("threads share one store") {
    const TemporaryFolder folder;
    auto store = CubinStore::open(folder / "cubins.db");
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 50; ++i) {
          const int number = 100 * thread + i;
          store.put(key(number), some_cubin(number));
          CHECK(holds(store, number));
          static_cast<void>(store.find(key(100 * ((thread + 1) % 4) + i)));
        }
      });
    }
    threads.clear();
    CHECK(store.problem() == "");
  }

  TEST_CASE("processes share one file") {
    const TemporaryFolder folder;
    const fs::path path = folder / "cubins.db";
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 4; ++process) {
      children.push_back(std::make_unique<Child>([&, process](Child& self) {
        auto store = CubinStore::open(path);
        for (int i = 0; i < 100; ++i) store.put(key(1000 * process + i), some_cubin(i));
        self.say(store.problem());
      }));
    }
    for (const auto& child : children) {
      CHECK(child->next_line() == "");
      CHECK(child->finished_well());
    }
    auto store = CubinStore::open(path);
    for (int process = 0; process < 4; ++process) {
      for (int i = 0; i < 100; ++i) {
        CHECK(same(store.find(key(1000 * process + i)), some_cubin(i)));
      }
    }
  }

  TEST_CASE("the key tells all parts apart") {
    const std::string base = cubin_key("13.0", "source", {"-a", "-b"});
    CHECK(base == cubin_key("13.0", "source", {"-a", "-b"}));
    CHECK(base != cubin_key("13.1", "source", {"-a", "-b"}));
    CHECK(base != cubin_key("13.0", "sourc", {"e", "-a", "-b"}));
    CHECK(base != cubin_key("13.0", "source", {"-a-b"}));
  }
}
