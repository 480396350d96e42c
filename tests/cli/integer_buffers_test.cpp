// Kernels of a user's own with buffers of integers of 8 to 64 bits, on the CPU device.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "cpu/npy_file.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

// Results are every byte, poison's too, and numbers that FP64 does not tell from their neighbours.
constexpr const char* kIntegerText = R"(
#ifndef BLOCK
#define BLOCK 32
#endif
#pragma kernel block_size(32) problem_size(n)
#pragma kernel buffers(x[n], bytes[n], halves[n], wide[n], signs[n])
__global__ void plain(const unsigned char* x, unsigned char* bytes, unsigned short* halves,
                      long long* wide, char4* signs, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  bytes[i] = 255 - x[i];
  halves[i] = x[i] * 257;
  wide[i] = (1LL << 60) + x[i];
  signs[i] = make_char4(-x[i] / 2, 1, -2, 3);
}
#pragma kernel tune(BLOCK = 32, 64) block_size(BLOCK) problem_size(n) reference(plain)
#pragma kernel buffers(x[n], bytes[n], halves[n], wide[n], signs[n])
#pragma kernel data(x = integers(0, 255)) results(bytes = "bytes.npy", wide = "wide.npy")
__global__ void fast(const unsigned char* x, unsigned char* bytes, unsigned short int* halves,
                     long long int* wide, char4* signs, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  bytes[i] = 255 - x[i];
  halves[i] = x[i] * 257;
  wide[i] = (1LL << 60) + x[i];
  signs[i] = make_char4(-x[i] / 2, 1, -2, 3);
}
)";

struct IntegerBuffers : Program {
  std::filesystem::path file = folder.path() / "k.cu";

  // Replaces the last place of a part.
  [[nodiscard]] ProgramResult tuned(const std::string& part = "",
                                    const std::string& by = "") const {
    std::string text = kIntegerText;
    if (!part.empty()) text.replace(text.rfind(part), part.size(), by);
    std::ofstream(file) << text;
    return (*this)({"tune", "--kernel", file.string() + ":fast", "--size", "n=3001", "--device",
                    "cpu", "--progress", "none"});
  }
};

}  // namespace

TEST_SUITE("buffers of integers") {
  TEST_CASE("of 8 to 64 bits are filled, compared bit by bit and written to files") {
    const IntegerBuffers program;
    const ProgramResult result = program.tuned();
    CAPTURE(result.err);
    CAPTURE(result.out);
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "2 of 2 configurations tried"));
    const auto read = [&](const char* name, ElementType type) {
      return read_npy(program.folder.path() / name,
                      {name, TensorRole::output, type, 1, 3001, 3001, 1, 3001});
    };
    const ElementBuffer bytes = read("bytes.npy", ElementType::u8);
    const ElementBuffer wide = read("wide.npy", ElementType::i64);
    std::int64_t last = 0;
    std::memcpy(&last, wide.data() + 3000 * sizeof last, sizeof last);
    CHECK(last == (std::int64_t{1} << 60) + 255 - static_cast<std::int64_t>(bytes.at(3000)));
    double least = 255, most = 0;
    for (std::int64_t i = 0; i < bytes.count(); ++i) {
      least = std::min(least, bytes.at(i));
      most = std::max(most, bytes.at(i));
    }
    CHECK(least == 0);
    CHECK(most == 255);
  }

  TEST_CASE("that are wrong are found: by one in 2^60, by one byte behind the end, unwritten") {
    const auto says = [](const std::string& part, const std::string& by, const std::string& what) {
      const IntegerBuffers program;
      const ProgramResult result = program.tuned(part, by);
      CAPTURE(result.err);
      CAPTURE(result.out);
      CHECK(result.exit_code == kNoneCorrect);
      CHECK(has(result.out + result.err, what));
    };
    says("(1LL << 60) + x[i]", "(1LL << 60) + (i == 5) + x[i] * (i != 5)",
         "1 of 3001 elements of wide are wrong on the first data; element 5 is "
         "1152921504606846977,");
    says("bytes[i] = 255 - x[i];", "bytes[i] = 255 - x[i]; bytes[n] = 3;",
         "wrote to 1 word outside of the output bytes");
    says("bytes[i] = 255 - x[i];", "if (i % 2 == 0) bytes[i] = 255 - x[i];",
         "elements of bytes are wrong on the first data");
    says("halves[i] = x[i] * 257;", "halves[i] = x[i] * 257 + (i == 7);",
         "1 of 3001 elements of halves are wrong");
  }
}

}  // namespace autotune::test
