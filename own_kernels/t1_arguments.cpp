// The arguments of a T1 description.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "own_kernels/t1_reader.hpp"

namespace autotune {
namespace {

using Kind = JsonValue::Kind;

struct T1Type {
  std::string_view name;
  std::optional<ElementType> element;  // of buffers; none: a whole number of another size
  bool is_whole = false;
};
constexpr T1Type kTypes[] = {
    {"half", ElementType::f16, false},    {"float16", ElementType::f16, false},
    {"float", ElementType::f32, false},   {"float32", ElementType::f32, false},
    {"double", ElementType::f64, false},  {"float64", ElementType::f64, false},
    {"int", ElementType::i32, true},      {"int32", ElementType::i32, true},
    {"uint", ElementType::i32, true},     {"uint32", ElementType::i32, true},
    {"unsigned", ElementType::i32, true}, {"unsigned int", ElementType::i32, true},
    {"int8", ElementType::i8, true},      {"uint8", ElementType::u8, true},
    {"int16", ElementType::i16, true},    {"uint16", ElementType::u16, true},
    {"int64", ElementType::i64, true},    {"uint64", ElementType::u64, true},
    {"size_t", ElementType::u64, true},   {"bool", {}, true}};

// The text of a word, or an empty one where it is left out.
std::string_view word(const JsonValue* value) {
  return value == nullptr ? std::string_view() : std::string_view(value->text);
}

class T1Arguments {
 public:
  T1Arguments(T1Text& text, const JsonValue& specification, const T1Declaration& kernel)
      : text_(text), specification_(specification), kernel_(kernel) {}

  // They are in the order of the function's arguments, whatever their names are.
  void put() {
    const std::vector<DeclaredArgument>& declared = kernel_.declaration.arguments;
    const JsonValue* const all = specification_.find({"Arguments"});
    if (all == nullptr) {
      text_.refuse(specification_, "Arguments is missing: the list of the kernel's arguments");
    }
    if (!all->is(Kind::list)) text_.refuse(*all, "Arguments must be a list");
    if (all->items.size() != declared.size()) {
      text_.refuse(*all, fmt::format("{} arguments are listed, but {} has {}", all->items.size(),
                                     kernel_.declaration.name, declared.size()));
    }
    for (std::size_t i = 0; i < declared.size(); ++i) put_argument(all->items[i], declared[i]);
    put_references(*all);
  }

 private:
  void put_argument(const JsonValue& item, const DeclaredArgument& declared) {
    const ArgumentType type = type_of(kernel_.source, declared, kernel_.types);
    const JsonValue* const memory = item.find({"MemoryType"});
    const std::string_view wanted = declared.is_pointer ? "Vector" : "Scalar";
    if (memory != nullptr && !is_same_word(memory->text, wanted)) {
      text_.refuse(*memory,
                   fmt::format("the MemoryType is '{}', but the argument {} of {} must be "
                               "a {}",
                               memory->text, declared.name, kernel_.declaration.name, wanted));
    }
    if (const JsonValue* const kind = item.find({"MemType"})) {
      if (!is_same_word(kind->text, "Global")) {
        text_.refuse(*kind,
                     fmt::format("{} is in '{}' memory, which cannot be filled: use a buffer "
                                 "in global memory",
                                 declared.name, kind->text));
      }
    }
    if (declared.is_pointer) {
      put_buffer(item, declared, type);
    } else {
      put_scalar(item, declared, type);
    }
  }

  void put_scalar(const JsonValue& item, const DeclaredArgument& declared,
                  const ArgumentType& type) {
    static_cast<void>(width_of(item, declared, type));
    const JsonValue* const value = item.find({"FillValue", "Value"});
    if (value == nullptr) {
      text_.refuse(item,
                   fmt::format("{} has no FillValue: a scalar must have a value", declared.name));
    }
    open("scalar", declared.name + " = ", item);
    text_.put_expression(*value);
    text_.close();
  }

  void put_buffer(const JsonValue& item, const DeclaredArgument& declared,
                  const ArgumentType& type) {
    const std::int64_t width = width_of(item, declared, type);
    const JsonValue* const size = item.find({"Size", "Length"});
    if (size == nullptr) {
      text_.refuse(item, fmt::format("{} has no Size: its number of elements", declared.name));
    }
    open("buffers", declared.name + "[", item);
    const std::size_t begin = text_.text().size();
    text_.put("(", *size);
    text_.put_size(*size);
    text_.put(width == type.width ? ")" : fmt::format(") * {} / {}", width, type.width), *size);
    const std::int64_t elements = text_.whole_number_from(begin);
    text_.put("]", *size);
    text_.close();
    const std::string_view role = role_of(item, type);
    open(role, declared.name, item);
    text_.close();
    if (role != "input") written_.insert(declared.name);
    if (role != "output") put_data(item, declared, type, elements * type.width);
  }

  void open(std::string_view directive, std::string_view begin, const JsonValue& item) {
    text_.open(directive, item);
    text_.put(begin, item);
  }

  // What a pointer to constants points to is read alone, whatever the description says.
  [[nodiscard]] std::string_view role_of(const JsonValue& item, const ArgumentType& type) const {
    const JsonValue* const access = item.find({"AccessType"});
    if (type.is_const || is_same_word(word(access), "ReadOnly")) return "input";
    if (is_same_word(word(access), "WriteOnly")) return "output";
    if (access == nullptr || is_same_word(access->text, "ReadWrite")) return "inout";
    text_.refuse(*access, fmt::format("the AccessType '{}' is unknown: use ReadOnly, WriteOnly or "
                                      "ReadWrite",
                                      access->text));
  }

  // The number of elements that one of the description's consists of: 4 of a float4. Refuses a type
  // that is not the declared one.
  [[nodiscard]] std::int64_t width_of(const JsonValue& item, const DeclaredArgument& declared,
                                      const ArgumentType& type) const {
    const JsonValue* const named = item.find({"Type"});
    if (named == nullptr) return type.width;
    if (is_same_word(named->text, "custom")) return custom_width(item, declared, type);
    std::string_view name = named->text;
    std::int64_t width = 1;
    const auto found = [&] {
      return std::ranges::find_if(
          kTypes, [&](const T1Type& each) { return is_same_word(each.name, name); });
    };
    const bool has_width =
        found() == std::end(kTypes) && !name.empty() && name.back() >= '1' && name.back() <= '4';
    if (has_width) {
      width = name.back() - '0';
      name.remove_suffix(1);
    }
    if (const JsonValue* const vector = item.find({"VectorType"})) width = width_in(*vector);
    const auto known = found();
    const bool fits = known != std::end(kTypes) &&
                      (declared.is_pointer ? known->element == type.type
                       : type.is_whole     ? known->is_whole
                                           : !known->is_whole && known->element == type.type);
    if (!fits) {
      std::string_view declared_name = info(type.type).cuda_name;
      if (type.is_whole) declared_name = "a whole number";
      text_.refuse(*named, fmt::format("the Type is '{}', but {} is {} in {}", named->text,
                                       declared.name, declared_name, kernel_.source.name()));
    }
    return width;
  }

  // VectorType is a number, or a name that ends with it.
  [[nodiscard]] std::int64_t width_in(const JsonValue& vector) const {
    const char last = vector.text.empty() ? '\0' : vector.text.back();
    if (last >= '1' && last <= '4') return last - '0';
    text_.refuse(vector, fmt::format("the VectorType '{}' is unknown: use 1 to 4", vector.text));
  }

  [[nodiscard]] std::int64_t custom_width(const JsonValue& item, const DeclaredArgument& declared,
                                          const ArgumentType& type) const {
    const JsonValue* const bytes = item.find({"TypeSize"});
    const std::int64_t right = type.width * info(type.type).size_bytes;
    if (bytes != nullptr && word(bytes) != std::to_string(right)) {
      text_.refuse(*bytes,
                   fmt::format("the TypeSize is {}, but an element of {} has {} bytes in {}",
                               bytes->text, declared.name, right, kernel_.source.name()));
    }
    return type.width;
  }

  void put_data(const JsonValue& item, const DeclaredArgument& declared, const ArgumentType& type,
                std::int64_t numbers) {
    const JsonValue* const fill = item.find({"FillType"});
    const JsonValue* const value = item.find({"FillValue", "Value"});
    const std::string_view kind = word(fill);
    const std::string begin = declared.name + " = ";
    if (is_same_word(kind, "Constant") || (fill == nullptr && value != nullptr)) {
      if (value == nullptr) text_.refuse(item, declared.name + " has no FillValue");
      open("data", begin + "constant(", item);
      text_.put_expression(*value);
      text_.put(")", *value);
    } else if (is_same_word(kind, "Random")) {
      open("data", begin, item);
      put_random(*fill, value, type);
    } else if (is_same_word(kind, "Generator")) {
      open("data", begin, item);
      put_generated(data_source(item, declared), numbers);
    } else if (is_same_word(kind, "BinaryRaw") || is_same_word(kind, "File")) {
      open("data", begin, item);
      text_.put_quoted(data_source(item, declared));
    } else if (fill == nullptr || is_same_word(kind, "Uninitialized")) {
      return;
    } else {
      text_.refuse(*fill,
                   fmt::format("{} cannot be filled by '{}': use Constant, Random, Generator "
                               "or BinaryRaw",
                               declared.name, kind));
    }
    text_.close();
  }

  // Numbers from 0 to FillValue.
  void put_random(const JsonValue& fill, const JsonValue* value, const ArgumentType& type) {
    const bool is_whole = is_integer(type.type);
    const JsonValue& place = value == nullptr ? fill : *value;
    const double most = value == nullptr ? 1 : text_.number(*value);
    if (is_whole && most != std::floor(most)) {
      text_.refuse(place, fmt::format("random whole numbers cannot reach to {}", most));
    }
    text_.put(fmt::format("{}({}, {})", is_whole ? "integers" : "uniform", std::min(most, 0.0),
                          std::max(most, 0.0)),
              place);
  }

  // Expressions of a + b * i, which nearly all are, become evenly spaced numbers.
  void put_generated(const JsonValue& source, std::int64_t numbers) {
    const Expression value = text_.generator(source);
    const auto at = [&](std::int64_t i) { return value.number({&i, 1}); };
    const double first = at(0);
    const double slope = at(1) - first;
    const double last = first + slope * static_cast<double>(numbers - 1);
    constexpr std::int64_t kTries = 1000;
    const std::int64_t step = std::max<std::int64_t>(numbers / kTries, 1);
    for (std::int64_t i = 0; i < std::min(numbers, kTries); ++i) {
      for (const std::int64_t each : {i, numbers - 1 - i * step}) {
        const double expected = first + slope * static_cast<double>(each);
        const double most = std::max({std::abs(first), std::abs(last), std::abs(slope)});
        if (std::abs(at(each) - expected) <= 1e-9 * most) continue;
        text_.refuse(source,
                     fmt::format("the generator is {} where i is {}, so it is no sum a + b * "
                                 "i: write its numbers to a file and use BinaryRaw",
                                 at(each), each));
      }
    }
    text_.put(slope == 0 || numbers == 1 ? fmt::format("constant({})", first)
                                         : fmt::format("linear({}, {})", first, last),
              source);
  }

  const JsonValue& data_source(const JsonValue& item, const DeclaredArgument& declared) const {
    const JsonValue* const source = item.find({"DataSource", "Path"});
    if (source == nullptr || !source->is(Kind::text)) {
      text_.refuse(source == nullptr ? item : *source,
                   fmt::format("{} has no DataSource, a text", declared.name));
    }
    return *source;
  }

  void put_references(const JsonValue& arguments) {
    const JsonValue* const all = specification_.find({"ReferenceArguments"});
    if (all == nullptr) return;
    if (!all->is(Kind::list)) text_.refuse(*all, "ReferenceArguments must be a list");
    for (const JsonValue& item : all->items) put_reference(item, target_of(item, arguments));
  }

  [[nodiscard]] const DeclaredArgument& target_of(const JsonValue& item,
                                                  const JsonValue& arguments) const {
    const JsonValue* const target = item.find({"TargetName"});
    for (std::size_t i = 0; i < arguments.items.size() && target != nullptr; ++i) {
      const DeclaredArgument& declared = kernel_.declaration.arguments[i];
      const bool is_named = word(arguments.items[i].find({"Name"})) == target->text;
      if (is_named && written_.contains(declared.name)) return declared;
    }
    text_.refuse(target == nullptr ? item : *target,
                 "TargetName must be the Name of one of the Arguments that the kernel writes");
  }

  void put_reference(const JsonValue& item, const DeclaredArgument& target) {
    const JsonValue* const fill = item.find({"FillType"});
    if (fill != nullptr && !is_same_word(fill->text, "BinaryRaw")) {
      text_.refuse(*fill,
                   fmt::format("the right values of {} cannot be made by '{}': use BinaryRaw, "
                               "or leave the reference out, and results are compared with "
                               "those of the default configuration",
                               target.name, fill->text));
    }
    open("reference", target.name + " = ", item);
    text_.put_quoted(data_source(item, target));
    text_.close();
    const JsonValue* const threshold = item.find({"ValidationThreshold"});
    if (threshold == nullptr) return;
    const JsonValue* const method = item.find({"ValidationMethod"});
    const bool is_relative = is_same_word(word(method), "SideBySideRelativeComparison");
    open("tolerance", target.name + (is_relative ? " = 0, " : " = "), item);
    text_.put_expression(*threshold);
    text_.close();
  }

  T1Text& text_;
  const JsonValue& specification_;
  const T1Declaration& kernel_;
  std::set<std::string> written_;
};

}  // namespace

void put_t1_arguments(T1Text& text, const JsonValue& specification, const T1Declaration& kernel) {
  T1Arguments(text, specification, kernel).put();
}

}  // namespace autotune
