#include "own_kernels/t1_reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace autotune {
namespace {

using Kind = JsonValue::Kind;

constexpr std::array<std::string_view, 3> kAxes = {"X", "Y", "Z"};
constexpr std::array<std::string_view, 3> kDivisors = {"GridDivX", "GridDivY", "GridDivZ"};
constexpr std::array<std::string_view, 3> kBlockNames = {"block_size_x", "block_size_y",
                                                         "block_size_z"};

// The member of this name must be there and have this kind.
const JsonValue& required(const SourceText& source, const JsonValue& of, std::string_view name,
                          Kind kind, std::string_view what) {
  const JsonValue* const found = of.find({name});
  if (found == nullptr) source.refuse(of.begin, fmt::format("{} is missing: {}", name, what));
  if (!found->is(kind)) source.refuse(found->begin, fmt::format("{} must be {}", name, what));
  return *found;
}

const JsonValue& specification_of(const SourceText& source, const JsonValue& description) {
  return required(source, description, "KernelSpecification", Kind::object,
                  "an object that describes the kernel, as files in the T1 format have it");
}

// The expressions along x, y and z: an object, a list, or one expression.
std::vector<const JsonValue*> extents_of(const T1Text& text, const JsonValue& sizes) {
  std::vector<const JsonValue*> extents;
  if (sizes.is(Kind::object)) {
    for (const std::string_view axis : kAxes) extents.push_back(sizes.find({axis}));
    while (!extents.empty() && extents.back() == nullptr) extents.pop_back();
  } else if (sizes.is(Kind::list)) {
    for (const JsonValue& item : sizes.items) extents.push_back(&item);
  } else {
    extents.push_back(&sizes);
  }
  if (extents.empty() || extents.front() == nullptr) {
    text.refuse(sizes, "X is missing: the extent along x");
  }
  if (extents.size() > kAxes.size()) text.refuse(*extents[3], "a size has three extents at most");
  return extents;
}

class T1Reader {
 public:
  T1Reader(const SourceText& source, const JsonValue& description)
      : description_(description),
        specification_(specification_of(source, description)),
        text_(source, specification_) {}

  T1Text read(const T1Declaration& kernel) {
    if (const JsonValue* const space = description_.find({"ConfigurationSpace"})) {
      read_parameters(*space);
      read_conditions(*space);
    }
    read_block();
    read_grid();
    read_shared_memory();
    read_compiler_options();
    put_t1_arguments(text_, specification_, kernel);
    return std::move(text_);
  }

 private:
  void read_parameters(const JsonValue& space) {
    const JsonValue* const all = space.find({"TuningParameters"});
    if (all == nullptr) return;
    if (!all->is(Kind::list)) text_.refuse(*all, "TuningParameters must be a list");
    for (const JsonValue& each : all->items) {
      const JsonValue* const name = each.find({"Name"});
      const JsonValue* const values = each.find({"Values"});
      if (name == nullptr || !name->is(Kind::text) || !is_identifier(name->text)) {
        text_.refuse(name == nullptr ? each : *name,
                     "a parameter has a Name, which is the name of its macro");
      }
      if (values == nullptr) {
        text_.refuse(each,
                     fmt::format("the parameter {} has no Values, e.g. \"[1, 2, 4]\"", name->text));
      }
      if (const JsonValue* const type = each.find({"Type"}); type && is_text_type(*type)) {
        text_.refuse(*type,
                     fmt::format("{} has texts as values: parameters are whole numbers, true "
                                 "or false, so number the texts",
                                 name->text));
      }
      text_.put_parameter(*name, *values);
      if (const JsonValue* const value = each.find({"Default"})) put("default", {value});
    }
  }

  static bool is_text_type(const JsonValue& type) {
    return is_same_word(type.text, "string") || is_same_word(type.text, "str");
  }

  static bool is_identifier(std::string_view text) {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, [&](char c) {
      return is_letter(c) || (c >= '0' && c <= '9');
    });
  }

  void read_conditions(const JsonValue& space) {
    const JsonValue* const all = space.find({"Conditions", "Constraints"});
    if (all == nullptr) return;
    if (!all->is(Kind::list)) text_.refuse(*all, "Conditions must be a list");
    for (const JsonValue& each : all->items) {
      const JsonValue* const holds = each.is(Kind::text) ? &each : each.find({"Expression"});
      if (holds == nullptr) {
        text_.refuse(each, "a condition has an Expression, e.g. \"TILE % 4 == 0\"");
      }
      put("restriction", {holds});
    }
  }

  // Adds a directive with these expressions; what is null is 1.
  void put(std::string_view directive, const std::vector<const JsonValue*>& values) {
    text_.open(directive, *values.front());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_.put(", ", *values.front());
      if (values[i] == nullptr) {
        text_.put("1", *values.front());
      } else {
        text_.put_expression(*values[i]);
      }
    }
    text_.close();
  }

  void read_block() {
    const JsonValue* const local = specification_.find({"LocalSize", "BlockSize"});
    if (local != nullptr) {
      block_ = extents_of(text_, *local);
      put("block_size", block_);
    } else if (!text_.is_parameter(kBlockNames[0])) {
      text_.refuse(specification_,
                   "LocalSize is missing: the threads of a block, e.g. {\"X\": \"256\"}");
    }
  }

  // Kernel Tuner's ProblemSize with divisors says the same in a way that leaves less to be wrong.
  void read_grid() {
    const JsonValue* const problem = specification_.find({"ProblemSize"});
    const JsonValue* const global = specification_.find({"GlobalSize"});
    const JsonValue* const grid = specification_.find({"GridSize"});
    const bool has_divisors = std::ranges::any_of(
        kDivisors, [this](std::string_view name) { return !divisors_of(name).empty(); });
    if (problem != nullptr && (has_divisors || (global == nullptr && grid == nullptr))) {
      const std::vector<const JsonValue*> extents = extents_of(text_, *problem);
      put("problem_size", extents);
      if (has_divisors) put_divisors(*problem, extents.size());
    } else if (global != nullptr) {
      put(counts_threads() ? "problem_size" : "grid_size", extents_of(text_, *global));
    } else if (grid != nullptr) {
      put("grid_size", extents_of(text_, *grid));
    } else {
      text_.refuse(specification_,
                   "GlobalSize is missing: the size of the grid, e.g. {\"X\": \"4096 // BLOCK\"}");
    }
  }

  // CUDA counts blocks, OpenCL threads.
  [[nodiscard]] bool counts_threads() const {
    const JsonValue* const type = specification_.find({"GlobalSizeType"});
    if (type == nullptr || is_same_word(type->text, "CUDA")) return false;
    if (is_same_word(type->text, "OpenCL")) return true;
    text_.refuse(*type, fmt::format("the GlobalSizeType '{}' is unknown: use CUDA, which counts "
                                    "blocks, or OpenCL, which counts threads",
                                    type->text));
  }

  [[nodiscard]] std::vector<const JsonValue*> divisors_of(std::string_view name) const {
    std::vector<const JsonValue*> divisors;
    const JsonValue* const found = specification_.find({name});
    if (found == nullptr) return divisors;
    if (!found->is(Kind::list)) return {found};
    for (const JsonValue& item : found->items) divisors.push_back(&item);
    return divisors;
  }

  // The grid along an axis without divisors is that of one problem a thread.
  void put_divisors(const JsonValue& problem, std::size_t axes) {
    text_.open("grid_divisor", problem);
    for (std::size_t i = 0; i < axes; ++i) {
      if (i > 0) text_.put(", ", problem);
      const std::vector<const JsonValue*> divisors = divisors_of(kDivisors[i]);
      if (!divisors.empty()) {
        for (const JsonValue* const each : divisors) {
          text_.put(each == divisors.front() ? "(" : " * (", *each);
          text_.put_expression(*each);
          text_.put(")", *each);
        }
      } else if (i < block_.size() && block_[i] != nullptr) {
        text_.put_expression(*block_[i]);
      } else {
        const bool is_named = block_.empty() && text_.is_parameter(kBlockNames[i]);
        text_.put(is_named ? kBlockNames[i] : "1", problem);
      }
    }
    text_.close();
  }

  void read_shared_memory() {
    if (const JsonValue* const bytes = specification_.find({"SharedMemory"})) {
      put("shared_memory", {bytes});
    }
  }

  void read_compiler_options() {
    const JsonValue* const options = specification_.find({"CompilerOptions"});
    if (options == nullptr) return;
    std::vector<const JsonValue*> all = {options};
    if (options->is(Kind::list)) {
      all.clear();
      for (const JsonValue& item : options->items) all.push_back(&item);
    }
    for (const JsonValue* const each : all) {
      if (each->is(Kind::text) && each->text.empty()) continue;
      text_.open("compiler", *each);
      text_.put_quoted(*each);
      text_.close();
    }
  }

  const JsonValue& description_;
  const JsonValue& specification_;
  T1Text text_;
  std::vector<const JsonValue*> block_;
};

}  // namespace

T1Kernel t1_kernel(const SourceText& source, const JsonValue& description) {
  const JsonValue& specification = specification_of(source, description);
  const JsonValue* const language = specification.find({"Language"});
  if (language != nullptr && !is_same_word(language->text, "CUDA")) {
    source.refuse(language->begin, fmt::format("the Language is {}: only kernels in CUDA can be "
                                               "tuned",
                                               in_marks(language->text)));
  }
  const JsonValue& name = required(source, specification, "KernelName", Kind::text,
                                   "the name of the kernel's function");
  const JsonValue& file =
      required(source, specification, "KernelFile", Kind::text, "the .cu file of the kernel");
  T1Kernel kernel{.name = name.text,
                  .name_place = name.begin,
                  .template_arguments = {},
                  .file = file.text,
                  .file_place = file.begin};
  const JsonValue* const types = specification.find({"KernelTypeNames"});
  if (types == nullptr) return kernel;
  if (!types->is(Kind::list)) source.refuse(types->begin, "KernelTypeNames must be a list");
  for (const JsonValue& type : types->items) kernel.template_arguments.push_back(type.text);
  return kernel;
}

T1Text t1_directives(const SourceText& source, const JsonValue& description,
                     const T1Declaration& kernel) {
  return T1Reader(source, description).read(kernel);
}

}  // namespace autotune
