#include "export/source/text_template.hpp"

#include "autotune/error.hpp"

namespace autotune {
namespace {

const std::string& value_of(const TextValues& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  if (found == values.end()) throw Error("a text names no value: " + std::string(name));
  return found->second;
}

std::string filled_line(std::string_view line, const TextValues& values) {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t begin = line.find('@', at);
    result += line.substr(at, begin - at);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = line.find('@', begin + 1);
    result += value_of(values, line.substr(begin + 1, end - begin - 1));
    at = end + 1;
  }
}

}  // namespace

std::string filled(std::string_view text, const TextValues& values) {
  constexpr std::string_view kIf = "@if ";
  std::string result;
  bool stays = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (line.starts_with(kIf)) {
      stays = !value_of(values, line.substr(kIf.size())).empty();
    } else if (line == "@else") {
      stays = !stays;
    } else if (line == "@end") {
      stays = true;
    } else if (stays) {
      result += filled_line(line, values) + '\n';
    }
  }
  return result;
}

}  // namespace autotune
