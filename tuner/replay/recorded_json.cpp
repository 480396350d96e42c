#include "tuner/replay/recorded_json.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// Python writes numbers that JSON does not have. Gives the length of one that begins here, or 0.
std::size_t python_number_at(const std::string& text, std::size_t place) {
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text.compare(place, word.size(), word) == 0) return word.size();
  }
  return 0;
}

// The numbers become texts of the same length, so that the positions of syntax errors stay correct.
std::string without_python_numbers(std::string text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
    } else if (quoted) {
      if (text[i] == '\\') ++i;
    } else if (const std::size_t length = python_number_at(text, i); length > 0) {
      text[i] = '"';
      i += length - 1;
      text[i] = '"';
    }
  }
  return text;
}

// Builds a document in a time that is linear in the text: the library's own builder looks for each
// key among all before it, which takes minutes for a cache with a key for each configuration. And
// it keeps what there is of a document that ends too early.
class DocumentBuilder : public nlohmann::json_sax<OrderedJson> {
 public:
  struct Fault {
    std::size_t byte;
    bool is_range;  // a number is out of range; else the syntax is wrong
  };

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(OrderedJson::object()); }
  bool start_array(std::size_t) override { return open(OrderedJson::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    object(*open_.back()).emplace_back(std::move(name), nullptr);
    awaits_value_ = true;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const OrderedJson::exception& error) override {
    fault_ = {byte, dynamic_cast<const OrderedJson::out_of_range*>(&error) != nullptr};
    return false;
  }

  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }
  [[nodiscard]] OrderedJson take() { return std::move(document_); }

  // Where the text ended in a cache of Kernel Tuner, drops the entry that is not whole. False where
  // it ended elsewhere.
  bool close_cache() {
    if (open_.size() < 2 || !document_.is_object() || !open_[1]->is_object() ||
        object(document_).back().first != "cache") {
      return false;
    }
    if (open_.size() > 2 || awaits_value_) object(*open_[1]).pop_back();
    return true;
  }

 private:
  static OrderedJson::object_t& object(OrderedJson& json) {
    return json.get_ref<OrderedJson::object_t&>();
  }

  OrderedJson& place(OrderedJson value) {
    awaits_value_ = false;
    if (open_.empty()) return document_ = std::move(value);
    OrderedJson& parent = *open_.back();
    if (parent.is_object()) return object(parent).back().second = std::move(value);
    return parent.get_ref<OrderedJson::array_t&>().emplace_back(std::move(value));
  }
  bool add(OrderedJson value) {
    place(std::move(value));
    return true;
  }
  bool open(OrderedJson container) {
    if (open_.size() == kMaxDepth) throw UsageError("is nested too deep for recorded results");
    open_.push_back(&place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  // A file of some kilobytes could have brackets, unpacked, that take all memory.
  static constexpr std::size_t kMaxDepth = 64;  // recorded results have 10

  OrderedJson document_;
  // The containers that are not closed, from the outermost. They stay in place, since their parents
  // do not grow meanwhile.
  std::vector<OrderedJson*> open_;
  bool awaits_value_ = false;
  std::optional<Fault> fault_;
};

}  // namespace

RecordedDocument parse_recorded_json(std::string text) {
  text = without_python_numbers(std::move(text));
  DocumentBuilder builder;
  if (OrderedJson::sax_parse(text, &builder)) return {builder.take()};
  const DocumentBuilder::Fault fault = builder.fault().value();
  if (fault.is_range) throw UsageError("has a number that is out of range");
  const bool ends_early = fault.byte > text.size();
  if (ends_early && builder.close_cache()) return {builder.take(), /*is_whole=*/false};
  throw UsageError(fmt::format("is not a whole JSON document: {} at byte {} of {}",
                               ends_early ? "it ends too early" : "there is a fault",
                               std::min(fault.byte, text.size()), text.size()));
}

}  // namespace autotune
