#include "cpu/tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

using autotune::ElementBuffer;
using autotune::ElementType;
using autotune::Poison;
using autotune::PoisonedTensor;
using autotune::TensorContent;
using autotune::ThreadPool;

namespace {

constexpr std::int64_t kCount = 300'000;  // more than one piece of work
constexpr ElementType kTypes[] = {ElementType::f64, ElementType::f32, ElementType::bf16,
                                  ElementType::f16, ElementType::i32, ElementType::i8,
                                  ElementType::u8,  ElementType::i16, ElementType::u16,
                                  ElementType::i64, ElementType::u64};

std::vector<double> values_of(const ElementBuffer& buffer) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < buffer.count(); ++i) values.push_back(buffer.at(i));
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

PoisonedTensor poisoned(ElementType type, ThreadPool& pool) {
  PoisonedTensor tensor({.type = type, .rows = 3, .columns = 5, .row_stride = 5});
  tensor.poison(pool);
  return tensor;
}

// Writes a zero.
void write(PoisonedTensor& tensor, std::int64_t element) {
  const std::int64_t bytes = size_bytes(tensor.type());
  std::memset(tensor.data() + element * bytes, 0, static_cast<std::size_t>(bytes));
}

}  // namespace

TEST_SUITE("tensors") {
  TEST_CASE("what is written between the matrices of a batch is found") {
    ThreadPool pool(1);
    PoisonedTensor tensor(
        {.rows = 2, .columns = 3, .row_stride = 3, .matrices = 3, .matrix_stride = 10});
    tensor.poison(pool);
    CHECK(tensor.rows() == 6);
    write(tensor, 10 + 3);  // the second matrix, its second row
    CHECK(tensor.written(3, 0));
    CHECK_FALSE(tensor.written(2, 0));
    CHECK(tensor.written_outside() == 0);
    write(tensor, 6);   // behind the first matrix
    write(tensor, 29);  // the last element behind the last one
    CHECK(tensor.written_outside() == 2);
  }

  TEST_CASE("integers take all five values about equally often") {
    ThreadPool pool(2);
    for (const ElementType type : kTypes) {
      if (is_unsigned(type)) continue;
      CAPTURE(to_string(type));
      const auto values = values_of(autotune::random_integers(type, kCount, 1, pool));
      for (const double value : {-2, -1, 0, 1, 2}) {
        const auto count = std::count(values.begin(), values.end(), value);
        CHECK(count > kCount / 5 - 2000);
        CHECK(count < kCount / 5 + 2000);
      }
    }
  }

  TEST_CASE("uniform values lie within the open interval") {
    ThreadPool pool(2);
    for (const ElementType type : {ElementType::f64, ElementType::f32}) {
      CAPTURE(to_string(type));
      const auto values = values_of(autotune::random_uniform(type, kCount, 1, pool));
      const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
      CHECK(*least > -1);
      CHECK(*least < -0.999);
      CHECK(*greatest < 1);
      CHECK(*greatest > 0.999);
      CHECK(mean(values) == doctest::Approx(0).epsilon(0.01));
    }
  }

  TEST_CASE("uniform values of 16 bits are those of 32 rounded") {
    ThreadPool pool(2);
    const auto exact = values_of(autotune::random_uniform(ElementType::f32, 1000, 1, pool));
    for (const ElementType type : {ElementType::bf16, ElementType::f16}) {
      const auto values = values_of(autotune::random_uniform(type, 1000, 1, pool));
      const double unit = info(type).unit_roundoff;
      int far = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!(std::abs(values[i] - exact[i]) <= unit * std::max(std::abs(exact[i]), 1e-3))) ++far;
      }
      CHECK(far == 0);
    }
  }

  TEST_CASE("values depend on the seed and on nothing else") {
    ThreadPool one(1);
    ThreadPool four(4);
    const auto values = values_of(autotune::random_uniform(ElementType::f32, kCount, 7, one));
    CHECK(values == values_of(autotune::random_uniform(ElementType::f32, kCount, 7, four)));
    CHECK(values != values_of(autotune::random_uniform(ElementType::f32, kCount, 8, one)));
  }

  TEST_CASE("linear values are evenly spaced") {
    ThreadPool pool(2);
    for (const ElementType type : kTypes) {
      if (is_integer(type)) continue;
      CHECK(values_of(autotune::linear(type, 4, 0, 1, pool)) ==
            std::vector<double>{0, 0.25, 0.5, 0.75});
      CHECK(values_of(autotune::linear(type, 4, 1, 0, pool)) ==
            std::vector<double>{1, 0.75, 0.5, 0.25});
    }
  }

  TEST_CASE("contents are as they are described, in every type") {
    using Kind = TensorContent::Kind;
    ThreadPool pool(2);
    for (const ElementType type : kTypes) {
      CAPTURE(to_string(type));
      const auto values = [&](const TensorContent& content, std::int64_t count,
                              std::uint64_t seed = 3) {
        return values_of(filled(content, type, count, seed, pool));
      };
      const std::vector<double> uniform = values({Kind::uniform, 10, 30}, kCount);
      const auto [least, most] = std::ranges::minmax(uniform);
      CHECK(least >= 10);
      CHECK(most <= 30);
      CHECK(mean(uniform) == doctest::Approx(20).epsilon(0.01));
      const std::vector<double> normal = values({Kind::normal, 100, 10}, kCount);
      CHECK(mean(normal) == doctest::Approx(100).epsilon(0.01));
      const auto within = std::ranges::count_if(
          normal, [](double value) { return std::fabs(value - 100) <= 10.25; });
      CHECK(static_cast<double>(within) / kCount == doctest::Approx(0.69).epsilon(0.05));
      const int least_integer = is_unsigned(type) ? 3 : -1;
      const std::vector<double> integers =
          values({Kind::integers, 1.0 * least_integer, least_integer + 3.0}, kCount);
      for (int value = least_integer; value < least_integer + 4; ++value) {
        CHECK(std::ranges::count(integers, value) == doctest::Approx(kCount / 4).epsilon(0.05));
      }
      CHECK(values({Kind::linear, 0, 8}, 5) == std::vector<double>{0, 2, 4, 6, 8});
      CHECK(values({Kind::linear, 3, 8}, 1) == std::vector<double>{3});
      const double low = is_unsigned(type) ? 0 : -7;  // the nearest that the type has
      CHECK(values({Kind::constant, -7}, 2) == std::vector<double>{low, low});
      for (const std::int64_t count : {1, 2, 3, 4, 5, 200, 256}) {
        std::vector<double> order = values({Kind::permutation}, count);
        if (count >= 200) CHECK(order != values({Kind::permutation}, count, 4));
        std::ranges::sort(order);
        CHECK(order == values({Kind::linear, 0, static_cast<double>(count - 1)}, count));
      }
      CHECK(values({Kind::normal, 0, 1}, 100) != values({Kind::normal, 0, 1}, 100, 4));
    }
    CHECK(values_of(filled({Kind::constant, 1e300}, ElementType::i32, 1, 1, pool)) ==
          std::vector<double>{2147483647});
    CHECK(values_of(filled({}, ElementType::f32, kCount, 7, pool)) ==
          values_of(random_uniform(ElementType::f32, kCount, 7, pool)));
  }

  TEST_CASE("elements begin at a multiple of 64 bytes, of which there may be none") {
    for (const std::int64_t count : {0, 1, 1000}) {
      const ElementBuffer buffer(ElementType::f32, count);
      CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
      CHECK(buffer.count() == count);
    }
  }
}

TEST_SUITE("PoisonedTensor") {
  TEST_CASE("it tells which elements were written") {
    ThreadPool pool(2);
    for (const ElementType type : kTypes) {
      CAPTURE(to_string(type));
      PoisonedTensor tensor = poisoned(type, pool);
      if (!is_integer(type)) CHECK(std::isnan(tensor.at(1, 2)));
      if (type == ElementType::i32) CHECK(tensor.at(1, 2) == 2146992120);
      CHECK(tensor.unwritten().count == (shows_unwritten(type) ? 15 : 0));
      CHECK_FALSE(tensor.any_written(1, 0, 5));
      write(tensor, 1 * 5 + 2);
      CHECK(tensor.at(1, 2) == 0);
      CHECK(tensor.written(1, 2));
      CHECK_FALSE(tensor.written(1, 1));
      CHECK(tensor.any_written(1, 0, 5));
      CHECK_FALSE(tensor.any_written(1, 3, 2));
      CHECK(tensor.written_outside() == 0);
      tensor.poison(pool);
      CHECK_FALSE(tensor.written(1, 2));
    }
  }

  TEST_CASE("its data is stored without the gaps between matrices, and what is missing counted") {
    ThreadPool pool(1);
    PoisonedTensor tensor(
        {.rows = 2, .columns = 3, .row_stride = 3, .matrices = 2, .matrix_stride = 10});
    for (const Poison poison : {Poison::nan, Poison::number}) {
      tensor.poison(pool, poison);
      CHECK(tensor.unwritten().count == 12);
      tensor.store(filled({TensorContent::Kind::linear, 0, 11}, ElementType::f32, 12, 1, pool));
      CHECK(tensor.unwritten().count == 0);
      CHECK(tensor.written_outside() == 0);
      CHECK(tensor.at(2, 1) == 7);
      ElementBuffer copy(ElementType::f32, 12);
      tensor.copy_to(copy);
      CHECK(copy.at(11) == 11);
    }
    tensor.poison(pool);
    for (const std::int64_t element : {0, 1, 2, 3, 5, 10}) write(tensor, element);
    CHECK(tensor.unwritten().count == 6);
    CHECK(tensor.unwritten().first == 4);
  }

  TEST_CASE("it counts writes right before and behind the elements") {
    ThreadPool pool(1);
    for (const ElementType type : kTypes) {
      CAPTURE(to_string(type));
      PoisonedTensor tensor = poisoned(type, pool);
      write(tensor, -1);
      write(tensor, 15);
      write(tensor, 19);  // where a fourth row would end
      CHECK(tensor.written_outside() == 3);
    }
  }
}
