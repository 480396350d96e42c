#include "cpu/npy_file.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/support/npy.hpp"
#include "tests/support/run_program.hpp"

namespace autotune {
namespace {

TensorDesc tensor_of(ElementType type, std::int64_t rows, std::int64_t columns) {
  return {"a", TensorRole::input, type, rows, columns, columns, 1, rows * columns};
}

TEST_SUITE("write_npy()") {
  TEST_CASE("what it writes has the same elements, from a multiple of 64 bytes on") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "a.npy";
    for (const ElementType type :
         {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i32,
          ElementType::i8, ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i64,
          ElementType::u64}) {
      CAPTURE(to_string(type));
      for (const std::int64_t count : {1, 3, 1000}) {
        ElementBuffer written(type, count);
        for (std::int64_t i = 0; i < count; ++i) {
          store_element(type, written.data() + i * size_bytes(type), static_cast<double>(i % 5));
        }
        write_npy(path, written);
        const ElementBuffer read = read_npy(path, tensor_of(type, 1, count));
        CHECK(read.at(count - 1) == static_cast<double>((count - 1) % 5));
        const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
        CHECK((bytes - count * size_bytes(type)) % 64 == 0);
      }
    }
  }

  TEST_CASE("a folder that is not there is named") {
    CHECK_THROWS_WITH_AS(write_npy("/nowhere/a.npy", ElementBuffer(ElementType::f32, 1)),
                         "/nowhere/a.npy: the file cannot be written", EnvironmentError);
  }
}

TEST_SUITE("read_npy()") {
  TEST_CASE("a file of the tensor's type has its elements") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "a.npy";
    test::write_npy(path, "<f4", "(2, 3)", std::vector<float>{0, 1, 2, 3, 4, 5.5F});
    const ElementBuffer f32 = read_npy(path, tensor_of(ElementType::f32, 2, 3));
    CHECK(f32.at(5) == 5.5);
    CHECK(read_npy(path, tensor_of(ElementType::f32, 1, 6)).at(4) == 4);
    test::write_npy(path, "<f8", "(2,)", std::vector<double>{1e300, -2});
    CHECK(read_npy(path, tensor_of(ElementType::f64, 1, 2)).at(0) == 1e300);
    test::write_npy(path, "<i4", "(1, 1, 2)", std::vector<std::int32_t>{-7, 1 << 30});
    CHECK(read_npy(path, tensor_of(ElementType::i32, 1, 2)).at(1) == 1 << 30);
    test::write_npy(path, "<f2", "(1,)", std::vector<std::uint16_t>{0x3c00});
    CHECK(read_npy(path, tensor_of(ElementType::f16, 1, 1)).at(0) == 1);
    test::write_npy(path, "|V2", "()", std::vector<std::uint16_t>{0x3f80});
    CHECK(read_npy(path, tensor_of(ElementType::bf16, 1, 1)).at(0) == 1);
  }

  TEST_CASE("another file is refused by its name") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "a.npy";
    const TensorDesc tensor = tensor_of(ElementType::f32, 2, 2);
    const auto check = [&](const std::string& why) {
      CHECK_THROWS_WITH_AS(static_cast<void>(read_npy(path, tensor)), (path + ": " + why).c_str(),
                           EnvironmentError);
    };
    check("the file cannot be opened");
    const std::vector<float> four(4);
    test::write_npy(path, "<f4", "(3,)", four);
    check("it has 3 elements, but a has 4");
    test::write_npy(path, ">f4", "(4,)", four);
    check("it has elements of type '>f4', but a has '<f4' (f32)");
    test::write_npy(path, "<f8", "(4,)", four);
    check("it has elements of type '<f8', but a has '<f4' (f32)");
    test::write_npy(path, "<f4", "(2, 2)", four, "True");
    check("it is in Fortran order: save numpy.ascontiguousarray() of it");
    test::write_npy(path, "<f4", "(4,)", std::vector<float>(3));
    check("the file is cut short");
    test::write_npy(path, "<f4", "(9999999999, 9999999999, 9999999999)", four);
    check("this is not a .npy file, which numpy.save() writes");
    // No part of a header makes it another file.
    test::write_npy(path, "<f4", "(2, 2)", four);
    for (std::uintmax_t bytes = std::filesystem::file_size(path); bytes-- > 0;) {
      std::filesystem::resize_file(path, bytes);
      CHECK_THROWS_AS(static_cast<void>(read_npy(path, tensor)), EnvironmentError);
    }
  }
}

TEST_SUITE("read_elements()") {
  TEST_CASE("a file of another name has bare elements, as many as the tensor") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "a.bin";
    const TensorDesc tensor = tensor_of(ElementType::i32, 2, 1);
    const auto write = [&](const std::vector<std::int32_t>& numbers) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(numbers.data()), std::ssize(numbers) * 4);
    };
    const auto check = [&](const std::string& why) {
      CHECK_THROWS_WITH_AS(static_cast<void>(read_elements(path, tensor)),
                           (path + ": " + why).c_str(), EnvironmentError);
    };
    check("the file cannot be opened");
    write({-7, 1 << 30});
    CHECK(read_elements(path, tensor).at(0) == -7);
    CHECK(read_elements(path, tensor).at(1) == 1 << 30);
    write({1});
    check("it has less than the 8 bytes of a, 2 elements of i32");
    write({1, 2, 3});
    check("it has more than the 8 bytes of a, 2 elements of i32");
    const std::string npy = folder.path() / "a.npy";
    test::write_npy(npy, "<i4", "(2,)", std::vector<std::int32_t>{5, 6});
    CHECK(read_elements(npy, tensor).at(1) == 6);
  }
}

}  // namespace
}  // namespace autotune
