#include "cpu/tensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace autotune {
namespace {

constexpr std::int64_t kWordBytes = sizeof(Poison);
constexpr std::int64_t kPiece = std::int64_t{1} << 18;
constexpr std::align_val_t kAlignment{64};

// The output function of splitmix64: neighbouring inputs give unrelated outputs.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Calls visit(i) for all i below count, on all threads.
template <typename Visit>
void for_each_element(std::int64_t count, ThreadPool& pool, Visit visit) {
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
  pool.for_each(static_cast<std::size_t>(pieces), [&](std::size_t piece, std::size_t) {
    const std::int64_t first = static_cast<std::int64_t>(piece) * kPiece;
    const std::int64_t last = std::min(count, first + kPiece);
    for (std::int64_t i = first; i < last; ++i) visit(i);
  });
}

template <typename Value>
ElementBuffer filled(ElementType type, std::int64_t count, ThreadPool& pool, Value value) {
  ElementBuffer buffer(type, count);
  const std::int64_t bytes = size_bytes(type);
  for_each_element(count, pool, [&](std::int64_t i) {
    store_element(type, buffer.data() + i * bytes, value(i));
  });
  return buffer;
}

// Element i of the sequence as a number from 0 to 2^32 - 1.
auto random_numbers(std::uint64_t seed) {
  return [start = mixed(seed)](std::int64_t i) {
    const auto step = static_cast<std::uint64_t>(i) + 1;
    return mixed(start + 0x9e3779b97f4a7c15 * step) >> 32;
  };
}

// Numbers with the mean 0 and the deviation 1: sums of twelve uniform ones of 16 bits, which are the
// same numbers with every library and compiler.
auto normal_numbers(std::uint64_t seed) {
  return [start = mixed(seed)](std::int64_t i) {
    constexpr int kHashes = 3;
    constexpr int kParts = 4;
    std::int64_t sum = 0;
    for (int hash = 0; hash < kHashes; ++hash) {
      const std::uint64_t place = static_cast<std::uint64_t>(i) * kHashes + hash + 1;
      const std::uint64_t bits = mixed(start + 0x9e3779b97f4a7c15 * place);
      for (int part = 0; part < kParts; ++part) sum += bits >> 16 * part & 0xffff;
    }
    constexpr double kMean = kHashes * kParts * 65535 / 2.0;
    return (static_cast<double>(sum) - kMean) / 65536;
  };
}

// The numbers below `count` in a random order, each from its place alone: a Feistel network permutes
// the numbers of some bits, and is applied again to a number beyond the count.
auto permuted_numbers(std::uint64_t seed, std::int64_t count) {
  const auto end = static_cast<std::uint64_t>(count);
  const int half = std::max(1, (static_cast<int>(std::bit_width(end - 1)) + 1) / 2);
  return [=](std::int64_t i) {
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    auto number = static_cast<std::uint64_t>(i);
    do {
      for (std::uint64_t round = 0; round < 4; ++round) {
        const std::uint64_t right = number & mask;
        const std::uint64_t left = number >> half ^ (mixed(mixed(seed + round) + right) & mask);
        number = right << half | left;
      }
    } while (number >= end);
    return static_cast<double>(number);
  };
}

}  // namespace

ElementBuffer::ElementBuffer(ElementType type, std::int64_t count)
    : type_(type),
      count_(count),
      memory_(static_cast<std::byte*>(::operator new(
          static_cast<std::size_t>(std::max<std::int64_t>(count, 1) * size_bytes(type)),
          kAlignment))) {}

void ElementBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

ElementBuffer random_integers(ElementType type, std::int64_t count, std::uint64_t seed,
                              ThreadPool& pool) {
  return filled(type, count, pool, [number = random_numbers(seed)](std::int64_t i) {
    return static_cast<double>(static_cast<int>(number(i) % 5) - 2);
  });
}

ElementBuffer random_uniform(ElementType type, std::int64_t count, std::uint64_t seed,
                             ThreadPool& pool) {
  return filled(type, count, pool, [number = random_numbers(seed)](std::int64_t i) {
    constexpr int kHalf = 1 << 23;  // the numbers are the odd multiples of 1 / kHalf
    const int odd = 2 * static_cast<int>(number(i) >> 9) + 1;
    return static_cast<double>(odd - kHalf) / kHalf;
  });
}

ElementBuffer linear(ElementType type, std::int64_t count, double first, double last,
                     ThreadPool& pool) {
  const double step = (last - first) / static_cast<double>(count);
  return filled(type, count, pool,
                [=](std::int64_t i) { return first + step * static_cast<double>(i); });
}

ElementBuffer filled(const TensorContent& content, ElementType type, std::int64_t count,
                     std::uint64_t seed, ThreadPool& pool) {
  const double first = content.first;
  const double range = content.second - first;
  const auto with = [&](auto value) { return filled(type, count, pool, value); };
  switch (content.kind) {
    case TensorContent::Kind::uniform:  // the middles of 2^23 equal parts of the range
      return with([=, number = random_numbers(seed)](std::int64_t i) {
        return first + range * (static_cast<double>(2 * (number(i) >> 9) + 1) * 0x1p-24);
      });
    case TensorContent::Kind::normal:
      return with([=, number = normal_numbers(seed), deviation = content.second](std::int64_t i) {
        return first + deviation * number(i);
      });
    case TensorContent::Kind::integers: {
      const auto values = static_cast<std::uint64_t>(std::clamp(range + 1, 1.0, 0x1p32));
      return with([=, number = random_numbers(seed)](std::int64_t i) {
        return first + static_cast<double>(number(i) * values >> 32);
      });
    }
    case TensorContent::Kind::linear:
      return with([=, steps = static_cast<double>(std::max<std::int64_t>(count - 1, 1))](
                      std::int64_t i) { return first + range * static_cast<double>(i) / steps; });
    case TensorContent::Kind::permutation:
      return with(permuted_numbers(seed, count));
    case TensorContent::Kind::constant:
    case TensorContent::Kind::file:
      break;
  }
  return with([=](std::int64_t) { return first; });
}

PoisonedTensor::PoisonedTensor(const TensorDesc& output)
    : output_(output),
      stride_(output.placed_elements() / output.matrices),
      element_bytes_(size_bytes(output.type)),
      guard_((output.columns + 1024) / 64 * 64),
      memory_(output.type, output.placed_elements() + 2 * guard_) {}

void PoisonedTensor::poison(ThreadPool& pool, Poison poison) {
  poison_ = static_cast<std::uint16_t>(poison);
  auto* const words = reinterpret_cast<std::uint16_t*>(memory_.data());
  const std::int64_t bytes = memory_.count() * element_bytes_;
  for_each_element(bytes / kWordBytes, pool, [=, this](std::int64_t i) { words[i] = poison_; });
  // The last byte of an odd number is half a word.
  if (bytes % kWordBytes != 0) memory_.data()[bytes - 1] = static_cast<std::byte>(poison_ & 0xff);
}

void PoisonedTensor::store(const ElementBuffer& elements) {
  const auto bytes = static_cast<std::size_t>(output_.matrix_elements() * element_bytes_);
  for (std::int64_t matrix = 0; matrix < output_.matrices; ++matrix) {
    std::memcpy(data() + matrix * stride_ * element_bytes_,
                elements.data() + matrix * output_.matrix_elements() * element_bytes_, bytes);
  }
}

void PoisonedTensor::copy_to(ElementBuffer& elements) const {
  const auto bytes = static_cast<std::size_t>(output_.matrix_elements() * element_bytes_);
  for (std::int64_t matrix = 0; matrix < output_.matrices; ++matrix) {
    std::memcpy(elements.data() + matrix * output_.matrix_elements() * element_bytes_,
                data() + matrix * stride_ * element_bytes_, bytes);
  }
}

bool PoisonedTensor::differs(std::int64_t first, std::int64_t count) const {
  if (element_bytes_ == 1) {
    bool differs = false;
    for (std::int64_t i = first; i < first + count; ++i) {
      differs |= memory_.data()[i] != static_cast<std::byte>(poison_ >> i % kWordBytes * 8 & 0xff);
    }
    return differs;
  }
  const std::int64_t words_each = element_bytes_ / kWordBytes;
  const auto* const words =
      reinterpret_cast<const std::uint16_t*>(memory_.data()) + first * words_each;
  unsigned difference = 0;
  for (std::int64_t i = 0; i < count * words_each; ++i) difference |= words[i] ^ poison_;
  return difference != 0;
}

bool PoisonedTensor::written(std::int64_t row, std::int64_t column) const {
  return differs(place(row, column), 1);
}

bool PoisonedTensor::any_written(std::int64_t row, std::int64_t column, std::int64_t count) const {
  return differs(place(row, column), count);
}

std::int64_t PoisonedTensor::written_of(std::int64_t first, std::int64_t count) const {
  if (!differs(first, count)) return 0;
  std::int64_t written = 0;
  for (std::int64_t i = first; i < first + count; ++i) written += differs(i, 1);
  return written;
}

PoisonedTensor::Unwritten PoisonedTensor::unwritten() const {
  Unwritten result;
  if (!shows_unwritten(type())) return result;
  for (std::int64_t i = 0; i < output_.elements(); ++i) {
    if (written(i / columns(), i % columns())) continue;
    if (result.count == 0) result.first = i;
    ++result.count;
  }
  return result;
}

std::int64_t PoisonedTensor::written_outside() const {
  std::int64_t written = written_of(0, guard_) + written_of(memory_.count() - guard_, guard_);
  const std::int64_t of_matrix = output_.matrix_elements();
  for (std::int64_t matrix = 0; matrix < output_.matrices; ++matrix) {
    written += written_of(guard_ + matrix * stride_ + of_matrix, stride_ - of_matrix);
  }
  return written;
}

}  // namespace autotune
