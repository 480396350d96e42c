// One choice of values for a kernel template's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autotune/export.hpp"

namespace autotune {

// Parameter names (the template's macro names) with integer values, in the template's order.
// A value type; two configurations are equal when names, values and order are. It is a row of
// values: configurations of one space share their names.
class AUTOTUNE_API Configuration {
 public:
  using Entry = std::pair<std::string, std::int64_t>;
  using Names = std::vector<std::string>;

  // The names with their values, in order; valid as long as the configuration is unchanged.
  class Entries {
   public:
    using Reference = std::pair<const std::string&, std::int64_t>;
    class Iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = Entry;
      using difference_type = std::ptrdiff_t;
      using pointer = void;
      using reference = Reference;

      Iterator(const std::string* name, const std::int64_t* value) : name_(name), value_(value) {}
      Reference operator*() const { return {*name_, *value_}; }
      Iterator& operator++() {
        ++name_;
        ++value_;
        return *this;
      }
      Iterator operator++(int) {
        const Iterator before = *this;
        ++*this;
        return before;
      }
      bool operator==(const Iterator& other) const { return value_ == other.value_; }
      bool operator!=(const Iterator& other) const { return value_ != other.value_; }

     private:
      const std::string* name_;
      const std::int64_t* value_;
    };

    Entries(const std::string* names, const std::int64_t* values, std::size_t size)
        : names_(names), values_(values), size_(size) {}
    [[nodiscard]] Iterator begin() const { return {names_, values_}; }
    [[nodiscard]] Iterator end() const { return {names_ + size_, values_ + size_}; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Reference front() const { return *begin(); }

   private:
    const std::string* names_;
    const std::int64_t* values_;
    std::size_t size_;
  };

  Configuration() = default;
  // Throws UsageError for more than 100 names, as parse() does.
  explicit Configuration(const std::vector<Entry>& entries);
  // `names` are those of `values`, in the same order; more names than values stand for nothing.
  Configuration(std::shared_ptr<const Names> names, std::vector<std::int64_t> values)
      : names_(std::move(names)), values_(std::move(values)) {}

  // Reads "TILE_WIDTH=16,RESULTS_M=4". Throws UsageError that quotes the item that is wrong.
  static Configuration parse(std::string_view text);

  // The value of a parameter. Throws UsageError when there is none of that name.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const;
  void set(std::string_view name, std::int64_t value);

  [[nodiscard]] Entries entries() const {
    return {names_ ? names_->data() : nullptr, values_.data(), values_.size()};
  }
  [[nodiscard]] const std::vector<std::int64_t>& values() const { return values_; }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  // The same names with other values, as many.
  [[nodiscard]] Configuration with(std::vector<std::int64_t> values) const {
    return {names_, std::move(values)};
  }

  bool operator==(const Configuration& other) const { return compare(other) == 0; }
  bool operator!=(const Configuration& other) const { return compare(other) != 0; }
  bool operator<(const Configuration& other) const { return compare(other) < 0; }

 private:
  friend class ConfigSpace;  // which enumerates by changing one row

  // Returns a number below 0 where this one is less than the other, by the first name that differs,
  // or value where names are the same; 0 where they are equal.
  [[nodiscard]] int compare(const Configuration& other) const;

  // The place of a name among those that have values; as many as these when it has none.
  [[nodiscard]] std::size_t find(std::string_view name) const;

  std::shared_ptr<const Names> names_;
  std::vector<std::int64_t> values_;
};

// "TILE_WIDTH=16,RESULTS_M=4", the form that parse() reads and the database keeps.
[[nodiscard]] AUTOTUNE_API std::string to_string(const Configuration& configuration);

}  // namespace autotune
