// The tensors of a problem in this machine's memory. One thread may use an object at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/element_type.hpp"
#include "core/tensor.hpp"
#include "core/thread_pool.hpp"
#include "operation/tensor_content.hpp"

namespace autotune {

// `count` elements of a type, at a multiple of 64 bytes.
class ElementBuffer {
 public:
  // Throws std::bad_alloc.
  ElementBuffer(ElementType type, std::int64_t count);

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::byte* data() { return memory_.get(); }
  [[nodiscard]] const std::byte* data() const { return memory_.get(); }
  [[nodiscard]] double at(std::int64_t i) const {
    return load_element(type_, data() + i * size_bytes(type_));
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  ElementType type_;
  std::int64_t count_;
  std::unique_ptr<std::byte, Free> memory_;
};

// The first `count` numbers of a sequence that `seed` chooses: integers in [-2, 2], or uniform in
// (-1, 1).
[[nodiscard]] ElementBuffer random_integers(ElementType type, std::int64_t count,
                                            std::uint64_t seed, ThreadPool& pool);
[[nodiscard]] ElementBuffer random_uniform(ElementType type, std::int64_t count, std::uint64_t seed,
                                           ThreadPool& pool);
// Numbers that are evenly spaced from `first` on, such that element number `count` would be `last`.
[[nodiscard]] ElementBuffer linear(ElementType type, std::int64_t count, double first, double last,
                                   ThreadPool& pool);

// The elements of a tensor with this content, except that of a file (cpu/npy_file.hpp). They are
// rounded to the type, and limited to the range of an integer type.
[[nodiscard]] ElementBuffer filled(const TensorContent& content, ElementType type,
                                   std::int64_t count, std::uint64_t seed, ThreadPool& pool);

// Unwritten memory is filled with these 16 bits, again and again. The bits of `nan` are a quiet NaN
// in every type of real numbers, which no arithmetic gives; as an i32 they are 2146992120, which
// results of small integers do not reach. The bits of `number` are a number in every type: 1.3e7 in
// FP32, 14.6 in FP16.
enum class Poison : std::uint16_t { nan = 0x7ff8, number = 0x4b4b };

// Returns whether an element that is still poison was certainly not written. Results of 8 and 16
// bits may be the same bits: what a kernel leaves out is then found by its values alone.
[[nodiscard]] inline bool shows_unwritten(ElementType type) {
  return !is_integer(type) || size_bytes(type) > 2;
}

// An output that tells which of its elements were written. Elements and the guard zones before and
// behind them, and between the matrices of a batch, are poisoned. Rows are counted through all
// matrices.
class PoisonedTensor {
 public:
  explicit PoisonedTensor(const TensorDesc& output);

  [[nodiscard]] std::byte* data() { return memory_.data() + guard_ * element_bytes_; }
  [[nodiscard]] const std::byte* data() const { return memory_.data() + guard_ * element_bytes_; }
  [[nodiscard]] const TensorDesc& description() const { return output_; }
  [[nodiscard]] ElementType type() const { return output_.type; }
  [[nodiscard]] std::int64_t rows() const { return output_.matrices * output_.rows; }
  [[nodiscard]] std::int64_t columns() const { return output_.columns; }
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
    return memory_.at(place(row, column));
  }

  // The address of an element.
  [[nodiscard]] const std::byte* element(std::int64_t row, std::int64_t column) const {
    return memory_.data() + place(row, column) * element_bytes_;
  }

  void poison(ThreadPool& pool, Poison poison = Poison::nan);
  // Stores the elements, without gaps between matrices. The guard zones stay as they are.
  void store(const ElementBuffer& elements);
  // Stores the elements there, without gaps.
  void copy_to(ElementBuffer& elements) const;
  [[nodiscard]] bool written(std::int64_t row, std::int64_t column) const;
  // Returns whether any of these elements of a row was written.
  [[nodiscard]] bool any_written(std::int64_t row, std::int64_t column, std::int64_t count) const;
  // The number of elements that were not written, and the first of them, counted row by row. None
  // of a type that does not show it.
  struct Unwritten {
    std::int64_t count = 0;
    std::int64_t first = 0;
  };
  [[nodiscard]] Unwritten unwritten() const;
  // Elements of the guard zones that were written.
  [[nodiscard]] std::int64_t written_outside() const;

 private:
  // Returns the place of an element, counted from the front guard zone on.
  [[nodiscard]] std::int64_t place(std::int64_t row, std::int64_t column) const {
    return guard_ + row / output_.rows * stride_ + row % output_.rows * columns() + column;
  }
  // Returns whether any of these elements, counted from the front guard zone on, is not poison.
  [[nodiscard]] bool differs(std::int64_t first, std::int64_t count) const;

  // Returns how many of these elements were written.
  [[nodiscard]] std::int64_t written_of(std::int64_t first, std::int64_t count) const;

  TensorDesc output_;
  std::int64_t stride_;  // elements from one matrix to the next
  std::int64_t element_bytes_;
  std::int64_t guard_;  // elements of a guard zone: a row at least
  std::uint16_t poison_ = static_cast<std::uint16_t>(Poison::nan);
  ElementBuffer memory_;
};

}  // namespace autotune
