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
// Throws UsageError for a text in quotes that is longer than any that a recording has: the parser
// takes several times its memory.
std::string without_python_numbers(std::string text) {
  constexpr std::size_t kMostQuoted = std::size_t{16} << 20;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
      begin = i;
    } else if (quoted) {
      if (i - begin > kMostQuoted) throw UsageError("has a text of more than 16 MiB in quotes");
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
// key among all before it, which takes minutes for a cache with a key for each configuration. It
// passes results on and does not keep them. And it keeps what there is of a document that ends too
// early.
class DocumentBuilder : public nlohmann::json_sax<OrderedJson> {
 public:
  DocumentBuilder(std::span<const std::string> result_members, const RecordedDocument::Visit& visit)
      : result_members_(result_members), visit_(visit) {}

  struct Fault {
    std::size_t byte;
    bool is_range;  // a number is out of range; else the syntax is wrong
  };

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  // An integer of more than 64 bits stays as its text, since its neighbours have the same double.
  bool number_float(number_float_t value, const string_t& text) override {
    const bool is_integer = text.find_first_of(".eE") == string_t::npos;
    return is_integer ? add(text) : add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(OrderedJson::object()); }
  bool start_array(std::size_t) override { return open(OrderedJson::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    object(*open_.back()).emplace_back(std::move(name), nullptr);
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
    if (open_.size() < 2 || !open_[1]->is_object() || !in_results_ || !document_.is_object() ||
        object(document_).back().first != "cache") {
      return false;
    }
    open_[1]->clear();
    return true;
  }

 private:
  static OrderedJson::object_t& object(OrderedJson& json) {
    return json.get_ref<OrderedJson::object_t&>();
  }

  OrderedJson& place(OrderedJson value) {
    if (open_.empty()) return document_ = std::move(value);
    OrderedJson& parent = *open_.back();
    if (parent.is_object()) return object(parent).back().second = std::move(value);
    return parent.get_ref<OrderedJson::array_t&>().emplace_back(std::move(value));
  }
  bool add(OrderedJson value) {
    count();
    place(std::move(value));
    pass_on_result();
    return true;
  }
  bool open(OrderedJson container) {
    if (open_.size() == kMaxDepth) throw UsageError("is nested too deep for recorded results");
    count();
    open_.push_back(&place(std::move(container)));
    if (document_.is_array()) {
      in_results_ = are_results(kWholeDocument);
    } else if (open_.size() == 2) {
      in_results_ = are_results(object(document_).back().first);
    }
    return true;
  }
  bool close() {
    open_.pop_back();
    pass_on_result();
    return true;
  }

  [[nodiscard]] bool are_results(const std::string& member) const {
    return std::ranges::find(result_members_, member) != result_members_.end();
  }
  // How many containers are open where a result begins.
  [[nodiscard]] std::size_t depth_of_results() const { return document_.is_array() ? 1 : 2; }

  void count() {
    const bool in_result = in_results_ && open_.size() >= depth_of_results();
    std::size_t& values = in_result ? values_of_result_ : values_outside_;
    if (++values <= kMaxValues) return;
    throw UsageError(
        fmt::format("has more than {} values {}", kMaxValues,
                    &values == &values_of_result_ ? "in one result" : "outside of its results"));
  }

  // Passes on what was completed last if it is a result, and forgets it.
  void pass_on_result() {
    if (!in_results_ || open_.size() != depth_of_results()) return;
    OrderedJson& results = *open_.back();
    if (results.is_object()) {
      const auto& [name, result] = object(results).back();
      visit_(name, result);
    } else {
      visit_("", results.back());
    }
    results.clear();
    values_of_result_ = 0;
  }

  // A file of some kilobytes could have brackets or values, unpacked, that take all memory.
  static constexpr std::size_t kMaxDepth = 64;          // recorded results have 10
  static constexpr std::size_t kMaxValues = 1'000'000;  // theirs have some thousands

  OrderedJson document_;
  // The containers that are not closed, from the outermost. They stay in place, since their parents
  // do not grow meanwhile.
  std::vector<OrderedJson*> open_;
  bool in_results_ = false;
  std::size_t values_outside_ = 0;
  std::size_t values_of_result_ = 0;
  std::span<const std::string> result_members_;
  const RecordedDocument::Visit& visit_;
  std::optional<Fault> fault_;
};

}  // namespace

RecordedDocument::RecordedDocument(std::string text, std::span<const std::string> result_members)
    : text_(without_python_numbers(std::move(text))) {
  const Visit leave_out = [](const std::string&, const OrderedJson&) {};
  DocumentBuilder builder(result_members, leave_out);
  is_whole_ = OrderedJson::sax_parse(text_, &builder);
  if (!is_whole_) {
    const DocumentBuilder::Fault fault = builder.fault().value();
    if (fault.is_range) throw UsageError("has a number that is out of range");
    const bool ends_early = fault.byte > text_.size();
    if (!ends_early || !builder.close_cache()) {
      throw UsageError(fmt::format("is not a whole JSON document: {} at byte {} of {}",
                                   ends_early ? "it ends too early" : "there is a fault",
                                   std::min(fault.byte, text_.size()), text_.size()));
    }
  }
  outline_ = builder.take();
}

void RecordedDocument::visit_results(const std::string& member, const Visit& visit) const {
  DocumentBuilder builder({&member, 1}, visit);
  static_cast<void>(OrderedJson::sax_parse(text_, &builder));  // as far as it is whole
}

}  // namespace autotune
