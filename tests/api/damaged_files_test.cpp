// Files that are damaged under a running application.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

// A Library that keeps what it logs.
struct ListeningLibrary {
  std::vector<std::string> warnings;
  Library library{listening()};

  [[nodiscard]] bool warned(const std::string& part) const {
    for (const std::string& line : warnings) {
      if (has(line, part)) return true;
    }
    return false;
  }

 private:
  LibraryOptions listening() {
    LibraryOptions options;
    options.log = [this](LogLevel level, const std::string& line) {
      if (level == LogLevel::warning) warnings.push_back(line);
    };
    return options;
  }
};

std::string contents(const std::filesystem::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST_SUITE("damaged files") {
  TEST_CASE("a damaged kernel is noticed, reported and never loaded, wherever the damage is") {
    const Machine machine;
    // A piece of damage may lie within this kernel, whose text is longer and hardly compressed.
    std::mt19937 random(1);
    std::string body(300, ' ');
    for (char& one : body) one = static_cast<char>('0' + random() % 64);
    const CodeTraits traits = code_traits(*built_in_kernels().find("gemm_simt"), kProblem);
    Machine::compile("gemm_simt", kProblem, traits, body);
    const std::filesystem::path path = machine.storage.folder() / "cache/autotune/cubins.db";
    const std::string sound = contents(path);
    REQUIRE(sound.size() > 4096);
    Library().prepare(kProblem);
    const std::string image = machine.application.last_image();
    REQUIRE(has(image, body));
    int refused = 0;
    int unnoticed = 0;
    for (std::size_t at = 0; at < sound.size(); at += 61) {
      CAPTURE(at);
      ListeningLibrary application;
      std::string damaged = sound;
      for (std::size_t i = at; i < std::min(at + 61, sound.size()); ++i) damaged[i] ^= 0x24;
      std::ofstream(path, std::ios::binary) << damaged;
      static_cast<void>(machine.application.take_calls());
      try {
        application.library.prepare(kProblem);
        CHECK(has(machine.application.take_calls(), "cuModuleLoadData"));
        CHECK(machine.application.last_image() == image);
      } catch (const EnvironmentError& error) {  // there is no compiler that could make it anew
        ++refused;
        CHECK(has(error.what(), "the kernel is not in the cubin store"));
        CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
        unnoticed += application.warned("compiled kernels: ") ? 0 : 1;
      }
    }
    CHECK(refused > 10);
    CHECK(unnoticed <=
          2);  // where the key itself is damaged, which is then one that nobody asks for
  }

  TEST_CASE("a damaged database is reported, and products go on without it") {
    const Machine machine;
    Machine::compile("gemm_simt", kDeep);
    ListeningLibrary application;
    application.library.prepare(kProblem);
    CHECK(application.warnings.empty());
    std::ofstream(machine.storage.database()) << "not a database at all, but long enough for one";
    static_cast<void>(machine.application.take_calls());
    CHECK(application.library.gemm(kDeep, 1, {kMemory}, {kMemory}, 0, {kResult}, nullptr) ==
          MatchKind::predicted);
    CHECK(has(machine.application.take_calls(), "cuLaunchKernelEx"));
    CHECK(application.warned("stored results are left out: " + machine.storage.database()));
    CHECK(has(machine.calls_of(application.library), "cuLaunchKernelEx"));
    CHECK(application.library.query(kProblem).match == MatchKind::predicted);
  }
}

}  // namespace
}  // namespace autotune::test
