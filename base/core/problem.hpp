// A problem as named values: an operation with its sizes and traits. Only the operation's own
// folder and the application programming interface know what the names mean.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace autotune {

// Immutable and cheap to copy.
class Problem {
 public:
  struct Size {
    std::string name;
    std::int64_t value = 0;
    auto operator<=>(const Size&) const = default;
  };
  // An element type, a layout, a kind of arithmetic: a property of a problem other than a size.
  struct Trait {
    std::string name;
    std::string value;
    auto operator<=>(const Trait&) const = default;
  };

  // An empty problem: its key is empty, and equal to that of any other empty problem.
  Problem();
  // Sizes and traits in the order that the operation gives them. Names and values consist of
  // letters, digits, '_', '.', '+' and '-'; a trait's value does not begin with a digit or '-'.
  // Throws Error for anything else.
  Problem(std::string operation, std::vector<Size> sizes, std::vector<Trait> traits);
  // The inverse of key(), for the empty key too. Throws Error for text that is not a key.
  [[nodiscard]] static Problem parse(std::string_view key);

  [[nodiscard]] const std::string& operation() const { return data_->operation; }
  [[nodiscard]] const std::vector<Size>& sizes() const { return data_->sizes; }
  [[nodiscard]] const std::vector<Trait>& traits() const { return data_->traits; }
  // These throw Error for a name that the problem does not have.
  [[nodiscard]] std::int64_t size(std::string_view name) const;
  [[nodiscard]] const std::string& trait(std::string_view name) const;

  // The problem's identity as text, "gemm m=512 n=512 k=64 type=f32 layout=NN math=strict". Two
  // problems are equal exactly when their keys are.
  [[nodiscard]] const std::string& key() const { return data_->key; }

  friend bool operator==(const Problem& a, const Problem& b) {
    return a.data_ == b.data_ || a.key() == b.key();
  }
  // Orders problems by operation, then by sizes as numbers, then by traits.
  friend std::strong_ordering operator<=>(const Problem& a, const Problem& b);

 private:
  struct Data {
    std::string operation;
    std::vector<Size> sizes;
    std::vector<Trait> traits;
    std::string key;
  };
  std::shared_ptr<const Data> data_;
};

// Returns whether two problems differ in their sizes alone.
[[nodiscard]] bool same_traits(const Problem& a, const Problem& b);

// The text for people and messages: "gemm 512x512x64 f32 NN strict". Operation::text is shorter.
[[nodiscard]] std::string to_string(const Problem& problem);

}  // namespace autotune
