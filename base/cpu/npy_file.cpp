#include "cpu/npy_file.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kMagic = "\x93NUMPY"sv;
constexpr std::size_t kMostHeader = 1 << 16;

struct Header {
  std::string type;  // "<f4"
  bool is_fortran = false;
  std::int64_t count = 1;  // of elements
};

// Reads the file's beginning, and leaves the stream at the first element.
std::optional<Header> read_header(std::istream& file) {
  std::string start(kMagic.size() + 2, '\0');
  file.read(start.data(), std::ssize(start));
  if (!file || !start.starts_with(kMagic)) return std::nullopt;
  const int length_bytes = start[kMagic.size()] == 1 ? 2 : 4;
  std::size_t length = 0;
  for (int i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::size_t>(file.get() & 0xff) << 8 * i;
  }
  if (!file || length > kMostHeader) return std::nullopt;
  std::string text(length, '\0');
  file.read(text.data(), std::ssize(text));
  static const std::regex type("'descr': *'([^']*)'");
  static const std::regex order("'fortran_order': *(True|False)");
  static const std::regex shape("'shape': *\\(([0-9, ]*)\\)");
  static const std::regex number("[0-9]{1,18}");
  std::smatch found;
  Header header;
  if (!file || !std::regex_search(text, found, type)) return std::nullopt;
  header.type = found[1];
  if (!std::regex_search(text, found, order)) return std::nullopt;
  header.is_fortran = found[1] == "True";
  if (!std::regex_search(text, found, shape)) return std::nullopt;
  const std::string extents = found[1];
  for (std::sregex_iterator extent(extents.begin(), extents.end(), number), end; extent != end;
       ++extent) {
    if (__builtin_mul_overflow(header.count, std::stoll(extent->str()), &header.count)) {
      return std::nullopt;
    }
  }
  return header;
}

// Returns whether elements of a type have an order of bytes.
bool has_order(ElementType type) {
  return size_bytes(type) > 1 && type != ElementType::bf16;
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw EnvironmentError(fmt::format("{}: {}", path, why));
}

std::ifstream opened(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "the file cannot be opened");
  return file;
}

}  // namespace

ElementBuffer read_npy(const std::string& path, const TensorDesc& tensor) {
  std::ifstream file = opened(path);
  const std::optional<Header> header = read_header(file);
  if (!header) fail(path, "this is not a .npy file, which numpy.save() writes");
  const std::string name = info(tensor.type).numpy_name;
  const bool has_type = header->type.size() == name.size() + 1 && header->type.ends_with(name) &&
                        (header->type[0] == '<' || !has_order(tensor.type));
  if (!has_type) {
    fail(path, fmt::format("it has elements of type '{}', but {} has '{}{}' ({})", header->type,
                           tensor.name, has_order(tensor.type) ? '<' : '|', name,
                           to_string(tensor.type)));
  }
  if (header->is_fortran) {
    fail(path, "it is in Fortran order: save numpy.ascontiguousarray() of it");
  }
  if (header->count != tensor.elements()) {
    fail(path, fmt::format("it has {} elements, but {} has {}", header->count, tensor.name,
                           tensor.elements()));
  }
  ElementBuffer buffer(tensor.type, header->count);
  const std::int64_t bytes = tensor.bytes();
  file.read(reinterpret_cast<char*>(buffer.data()), bytes);
  if (file.gcount() != bytes) fail(path, "the file is cut short");
  return buffer;
}

ElementBuffer read_elements(const std::string& path, const TensorDesc& tensor) {
  if (path.ends_with(".npy")) return read_npy(path, tensor);
  std::ifstream file = opened(path);
  ElementBuffer buffer(tensor.type, tensor.elements());
  const std::int64_t bytes = tensor.bytes();
  file.read(reinterpret_cast<char*>(buffer.data()), bytes);
  const bool is_short = file.gcount() != bytes;
  if (is_short || file.peek() != std::ifstream::traits_type::eof()) {
    fail(path, fmt::format("it has {} than the {} bytes of {}, {} elements of {}",
                           is_short ? "less" : "more", bytes, tensor.name, tensor.elements(),
                           to_string(tensor.type)));
  }
  return buffer;
}

void write_npy(const std::string& path, const ElementBuffer& elements) {
  constexpr std::size_t kAlignment = 64;  // of the first element
  const std::string name = info(elements.type()).numpy_name;
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({},), }}",
                                   has_order(elements.type()) ? '<' : '|', name, elements.count());
  const std::size_t before = kMagic.size() + 4;  // with the version and the length
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\x01' << '\x00' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(elements.data()),
             elements.count() * size_bytes(elements.type()));
  file.close();
  if (!file) throw EnvironmentError(fmt::format("{}: the file cannot be written", path));
}

}  // namespace autotune
