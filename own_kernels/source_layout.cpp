#include "own_kernels/source_layout.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

constexpr std::string_view kSpace = " \t\r\v\f";
constexpr std::array<std::string_view, 3> kPrefixes = {"kernel", "kernel_tuner", "kernel_launcher"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Reads a text once, from its begin to its end.
class LayoutReader {
 public:
  explicit LayoutReader(const std::string& text) : text_(text) { layout_.code = text; }

  SourceLayout read() {
    bool at_line_begin = true;
    while (place_ < text_.size()) {
      const char c = text_[place_];
      if (starts_with("//") || starts_with("/*")) {
        skip_comment();
      } else if (c == '"' || c == '\'') {
        skip_literal(c);
        at_line_begin = false;
        code_seen();
      } else if (c == '#' && at_line_begin) {
        read_directive();
      } else {
        if (c != '\n' && kSpace.find(c) == std::string_view::npos) {
          at_line_begin = false;
          code_seen();
        }
        if (c == '\n') at_line_begin = true;
        ++place_;
      }
    }
    return std::move(layout_);
  }

 private:
  [[nodiscard]] bool starts_with(std::string_view what) const {
    return text_.compare(place_, what.size(), what) == 0;
  }

  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] != '\n') layout_.code[i] = ' ';
    }
  }

  void skip_comment() {
    const std::size_t begin = place_;
    if (starts_with("//")) {
      place_ = line_end(place_);
    } else {
      const std::size_t end = text_.find("*/", place_ + 2);
      place_ = end == std::string::npos ? text_.size() : end + 2;
    }
    blank(begin, place_);
  }

  void skip_literal(char quote) {
    for (++place_; place_ < text_.size() && text_[place_] != quote; ++place_) {
      if (text_[place_] == '\n') return;  // not closed: the compiler will say so
      if (text_[place_] == '\\') ++place_;
    }
    place_ = std::min(place_ + 1, text_.size());
  }

  // The end of a line that backslashes may continue.
  [[nodiscard]] std::size_t line_end(std::size_t from) const {
    for (std::size_t end = from;; ++end) {
      end = text_.find('\n', end);
      if (end == std::string::npos) return text_.size();
      std::size_t last = end;
      if (last > 0 && text_[last - 1] == '\r') --last;
      if (last == 0 || text_[last - 1] != '\\') return end;
    }
  }

  void code_seen() {
    if (pending_.lines.empty()) return;
    pending_.code = place_;
    layout_.blocks.push_back(std::move(pending_));
    pending_ = {};
  }

  std::string_view next_word(std::size_t& place, std::size_t end) const {
    while (place < end && kSpace.find(text_[place]) != std::string_view::npos) ++place;
    const std::size_t begin = place;
    while (place < end && is_word(text_[place])) ++place;
    return std::string_view(text_).substr(begin, place - begin);
  }

  void read_directive() {
    const std::size_t begin = place_;
    const std::size_t end = line_end(begin);
    std::size_t place = begin + 1;
    const std::string_view word = next_word(place, end);
    if (word == "pragma") {
      const std::string_view prefix = next_word(place, end);
      if (std::ranges::find(kPrefixes, prefix) != kPrefixes.end()) {
        pending_.lines.push_back({begin, place, end});
      }
    } else if (word == "include") {
      const std::size_t open = text_.find_first_not_of(kSpace, place);
      const std::size_t close = open < end && text_[open] == '"' ? text_.find('"', open + 1) : end;
      if (close < end) {
        layout_.includes.push_back({{begin, end}, text_.substr(open + 1, close - open - 1)});
      }
    }
    blank(begin, end);
    place_ = end;
  }

  const std::string& text_;
  std::size_t place_ = 0;
  SourceLayout layout_;
  PragmaBlock pending_;
};

class IncludeExpander {
 public:
  IncludeExpander(const std::vector<std::filesystem::path>& folders, std::size_t most_bytes)
      : folders_(folders), most_bytes_(most_bytes) {}

  std::vector<TextEdit> edits(const SourceText& source, const SourceLayout& layout,
                              const std::filesystem::path& folder) {
    std::vector<TextEdit> result;
    bytes_ += source.text().size();
    for (const IncludeLine& include : layout.includes) {
      const std::filesystem::path path = find(source, include, folder);
      const std::string line = source.where(include.line.end);
      const std::string text = expanded(path, source, include);
      const auto lines =
          std::count(source.text().begin(),
                     source.text().begin() + static_cast<std::ptrdiff_t>(include.line.end), '\n');
      result.push_back(
          {include.line, fmt::format("{}#line {} \"{}\"", text, lines + 2, source.name())});
    }
    return result;
  }

 private:
  std::filesystem::path find(const SourceText& source, const IncludeLine& include,
                             const std::filesystem::path& folder) const {
    std::vector<std::filesystem::path> all = {folder};
    all.insert(all.end(), folders_.begin(), folders_.end());
    for (const std::filesystem::path& each : all) {
      std::error_code error;
      const std::filesystem::path path =
          std::filesystem::weakly_canonical(each / include.name, error);
      if (error || !std::filesystem::is_regular_file(path, error)) continue;
      if (is_inside(path, all)) return path;
      source.refuse(include.line.begin,
                    fmt::format("'{}' lies outside of the file's folder: name its folder with "
                                "--include-folder, or move it",
                                include.name));
    }
    source.refuse(include.line.begin,
                  fmt::format("'{}' is not there: it must be in the file's folder or in one that "
                              "--include-folder names",
                              include.name));
  }

  static bool is_inside(const std::filesystem::path& path,
                        const std::vector<std::filesystem::path>& folders) {
    return std::ranges::any_of(folders, [&](const std::filesystem::path& folder) {
      std::error_code error;
      const std::filesystem::path root = std::filesystem::weakly_canonical(folder, error);
      const auto [end, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
      return !error && end == root.end();
    });
  }

  // A file that has `#pragma once`, or that is being included, is put in once.
  std::string expanded(const std::filesystem::path& path, const SourceText& from,
                       const IncludeLine& include) {
    constexpr std::size_t kDeepest = 64;
    if (once_.contains(path)) return "";
    if (depth_ == kDeepest) {
      from.refuse(include.line.begin, fmt::format("'{}' is included from itself", include.name));
    }
    if (bytes_ > most_bytes_) {
      from.refuse(
          include.line.begin,
          fmt::format("the file and what it includes have more than {} bytes", most_bytes_));
    }
    std::string text = read_source(path, most_bytes_);
    const std::size_t once = text.find("#pragma once");
    if (once != std::string::npos) {
      once_.insert(path);
      text.replace(once, 12, "            ");
    }
    const SourceText source(path.filename().string(), text);
    const SourceLayout layout = layout_of(source);
    ++depth_;
    std::vector<TextEdit> inner = edits(source, layout, path.parent_path());
    --depth_;
    return fmt::format("#line 1 \"{}\"\n{}\n", source.name(), edited(text, std::move(inner)));
  }

  const std::vector<std::filesystem::path>& folders_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::size_t depth_ = 0;
  std::set<std::filesystem::path> once_;
};

}  // namespace

SourceLayout layout_of(const SourceText& source) {
  return LayoutReader(source.text()).read();
}

std::string edited(const std::string& text, std::vector<TextEdit> edits) {
  std::ranges::sort(edits, {}, [](const TextEdit& edit) { return edit.part.begin; });
  std::string result;
  std::size_t place = 0;
  for (const TextEdit& edit : edits) {
    result.append(text, place, edit.part.begin - place);
    result += edit.text;
    place = edit.part.end;
  }
  return result.append(text, place);
}

std::string read_source(const std::filesystem::path& path, std::size_t most_bytes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw UsageError(fmt::format("{} is a folder: name a .cu file", path.string()));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw UsageError(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes) {
    throw UsageError(fmt::format("{} has more than {} bytes: a file of kernels may not",
                                 path.string(), most_bytes));
  }
  return text;
}

std::vector<TextEdit> expanded_includes(const SourceText& source, const SourceLayout& layout,
                                        const std::filesystem::path& folder,
                                        const std::vector<std::filesystem::path>& others,
                                        std::size_t most_bytes) {
  return IncludeExpander(others, most_bytes).edits(source, layout, folder);
}

}  // namespace autotune
