// The folders and links by which a path is found.
#include "core/posix/ownership.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

namespace fs = std::filesystem;

bool leads_by(const fs::path& path, const fs::path& place) {
  const std::vector<fs::path> way = way_to(path);
  return std::find(way.begin(), way.end(), place) != way.end();
}

TEST_SUITE("way_to") {
  TEST_CASE("a folder that .. leaves again does not count") {
    const TemporaryFolder temporary;
    const fs::path& folder = temporary.path();
    fs::create_directories(folder / "theirs");
    fs::create_directories(folder / "own");
    ::chmod((folder / "theirs").c_str(), 0777);
    CHECK(folder_of_others(folder / "theirs") == folder / "theirs");
    CHECK(folder_of_others(folder / "theirs/../own").empty());
    CHECK(leads_by(folder / "theirs/../own", folder / "own"));
  }

  TEST_CASE("a link counts, with the way to what it names") {
    const TemporaryFolder temporary;
    const fs::path& folder = temporary.path();
    fs::create_directories(folder / "far/theirs/end");
    ::chmod((folder / "far/theirs").c_str(), 0777);
    fs::create_directory_symlink("far/theirs/end", folder / "relative");
    fs::create_directory_symlink(folder / "relative", folder / "absolute");
    CHECK(leads_by(folder / "absolute/file", folder / "relative"));
    CHECK(folder_of_others(folder / "absolute/file") == folder / "far/theirs");
    // Above what the link names, not above the link.
    CHECK(leads_by(folder / "absolute/../x", folder / "far/theirs"));
  }

  TEST_CASE("many links in turn hide nothing behind them") {
    const TemporaryFolder temporary;
    const fs::path& folder = temporary.path();
    fs::create_directories(folder / "real/theirs");
    ::chmod((folder / "real/theirs").c_str(), 0777);
    fs::create_directory_symlink(".", folder / "real/again");
    std::string path = folder / "real";
    for (int i = 0; i < 30; ++i) path += "/again";
    CHECK(folder_of_others(path + "/theirs") == folder / "real/theirs");
  }

  TEST_CASE("a circle of links ends") {
    const TemporaryFolder temporary;
    const fs::path& folder = temporary.path();
    fs::create_symlink("b", folder / "a");
    fs::create_symlink("a", folder / "b");
    CHECK(leads_by(folder / "a", folder / "b"));
  }
}

}  // namespace
}  // namespace autotune::test
