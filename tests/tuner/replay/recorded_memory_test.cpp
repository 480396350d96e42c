// The memory that it takes to read a recording.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <malloc.h>

#include "tests/support/run_program.hpp"
#include "tuner/replay/replay.hpp"

namespace {

std::atomic<std::size_t> held_bytes = 0;
std::atomic<std::size_t> most_bytes = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  held_bytes += ::malloc_usable_size(memory);
  most_bytes = std::max(most_bytes.load(), held_bytes.load());
  return memory;
}
// As std::stable_sort asks for memory; the address sanitizer's own would not go with delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory != nullptr) held_bytes += ::malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  held_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace autotune {
namespace {

// A cache of Kernel Tuner in one line. Its entries have figures that replaying does not need.
std::string flat_cache(int entries) {
  std::string text = R"({"objective": "time", "tune_params_keys": ["A", "B", "C"], "cache": {)";
  for (int i = 0; i < entries; ++i) {
    text += fmt::format(R"({}"{},1,2": {{"A": {}, "B": 1, "C": 2, "time": {}.5, "times": [)",
                        i == 0 ? "" : ", ", i, i, 1 + i % 97);
    for (int sample = 0; sample < 32; ++sample) text += fmt::format("{}.25, ", sample);
    text += "0]}";
  }
  return text + "}}";
}

// T4 results of 14 parameters with two values each.
std::string small_values(int configurations) {
  std::string text = R"({"results": [)";
  for (int i = 0; i < configurations; ++i) {
    text += i == 0 ? R"({"configuration": {)" : R"(, {"configuration": {)";
    for (int bit = 0; bit < 14; ++bit) {
      text += fmt::format(R"({}"P{}": {})", bit == 0 ? "" : ",", bit, i >> bit & 1);
    }
    text += fmt::format(R"(}}, "invalidity": "correct", "times": {{"runtimes": [{}]}}}})", i + 1);
  }
  return text + "]}";
}

TEST_SUITE("recorded spaces") {
  TEST_CASE("a configuration takes at most 400 bytes, while it is read and while it is replayed") {
    constexpr int kCount = 16'384;
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "recorded.json";
    std::size_t bytes = 0;
    {
      const std::string text = small_values(kCount);
      bytes = text.size();
      std::ofstream(path, std::ios::binary) << text;
    }
    const std::size_t before = held_bytes;
    most_bytes = before;
    const std::vector<RecordedSpace> spaces = read_recorded_spaces(path, built_in_kernels());
    REQUIRE(spaces.at(0).configurations.size() == kCount);
    CHECK(most_bytes - before < bytes + std::size_t{400} * kCount);
    most_bytes = held_bytes.load();
    ThreadPool threads(2);
    static_cast<void>(replay(spaces[0], "model", {.trials = 40, .repeats = 2}, threads));
    CHECK(most_bytes - before < std::size_t{400} * kCount);
  }

  TEST_CASE("a recording takes the memory of its text and of its space, and half of the text") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "flat.json";
    std::size_t bytes = 0;
    {
      const std::string text = flat_cache(5000);
      bytes = text.size();
      std::ofstream(path, std::ios::binary) << text;
    }
    const std::size_t before = held_bytes;
    most_bytes = before;
    const std::vector<RecordedSpace> spaces = read_recorded_spaces(path, built_in_kernels());
    REQUIRE(spaces.size() == 1);
    CHECK(spaces[0].outcomes.size() == 5000);
    const std::size_t of_space = held_bytes - before;
    CHECK(most_bytes - before < bytes + bytes / 2 + of_space);
  }
}

}  // namespace
}  // namespace autotune
