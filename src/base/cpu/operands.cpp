#include "cpu/operands.hpp"

#include <algorithm>
#include <bit>

namespace autotune {
namespace {

constexpr std::uint32_t kPoison = 0x7fc0dead;  // a quiet NaN that no arithmetic gives
constexpr std::int64_t kPiece = std::int64_t{1} << 18;

bool is_poison(float value) {
  return std::bit_cast<std::uint32_t>(value) == kPoison;
}

// The output function of splitmix64: neighbouring inputs give unrelated outputs.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Gives element i the value element(i), on all threads.
template <typename Element>
void fill(float* elements, std::int64_t count, ThreadPool& pool, Element element) {
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
  pool.for_each(static_cast<std::size_t>(pieces), [&](std::size_t piece, std::size_t) {
    const std::int64_t first = static_cast<std::int64_t>(piece) * kPiece;
    const std::int64_t last = std::min(count, first + kPiece);
    for (std::int64_t i = first; i < last; ++i) elements[i] = element(i);
  });
}

template <typename Element>
std::vector<float> filled(std::int64_t count, ThreadPool& pool, Element element) {
  std::vector<float> elements(static_cast<std::size_t>(count));
  fill(elements.data(), count, pool, element);
  return elements;
}

// Element i of the sequence as a number from 0 to 2^32 - 1.
auto random_numbers(std::uint64_t seed) {
  return [start = mixed(seed)](std::int64_t i) {
    const auto step = static_cast<std::uint64_t>(i) + 1;
    return mixed(start + 0x9e3779b97f4a7c15 * step) >> 32;
  };
}

}  // namespace

std::vector<float> random_integers(std::int64_t count, std::uint64_t seed, ThreadPool& pool) {
  return filled(count, pool, [number = random_numbers(seed)](std::int64_t i) {
    return static_cast<float>(static_cast<int>(number(i) % 5) - 2);
  });
}

std::vector<float> random_uniform(std::int64_t count, std::uint64_t seed, ThreadPool& pool) {
  return filled(count, pool, [number = random_numbers(seed)](std::int64_t i) {
    constexpr int kHalf = 1 << 23;  // the odd multiples of 1 / kHalf
    const int odd = 2 * static_cast<int>(number(i) >> 9) + 1;
    return static_cast<float>(odd - kHalf) / kHalf;
  });
}

std::vector<float> linear(std::int64_t count, double first, double last, ThreadPool& pool) {
  const double step = (last - first) / static_cast<double>(count);
  return filled(count, pool, [=](std::int64_t i) {
    return static_cast<float>(first + step * static_cast<double>(i));
  });
}

PoisonedMatrix::PoisonedMatrix(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      guard_((columns + 1024) / 64 * 64),
      memory_(static_cast<std::size_t>(rows * columns + 2 * guard_)) {}

void PoisonedMatrix::poison(ThreadPool& pool) {
  fill(memory_.data(), static_cast<std::int64_t>(memory_.size()), pool,
       [](std::int64_t) { return std::bit_cast<float>(kPoison); });
}

bool PoisonedMatrix::written(std::int64_t row, std::int64_t column) const {
  return !is_poison(data()[row * columns_ + column]);
}

bool PoisonedMatrix::any_written(std::int64_t row, std::int64_t column, std::int64_t count) const {
  const float* const first = data() + row * columns_ + column;
  bool any = false;
  for (std::int64_t i = 0; i < count; ++i) any |= !is_poison(first[i]);
  return any;
}

std::int64_t PoisonedMatrix::written_outside() const {
  const auto wrong = [](float value) { return !is_poison(value); };
  return std::count_if(memory_.begin(), memory_.begin() + guard_, wrong) +
         std::count_if(memory_.end() - guard_, memory_.end(), wrong);
}

}  // namespace autotune
