// The values of text/kernel.cuh.in.
#include <algorithm>

#include <fmt/format.h>

#include "export/source/facts.hpp"

namespace autotune {
namespace {

// The macros that autotune's own compiler gets, but for the alignment: the source has both.
std::vector<std::string> macros_of(const SourceRequest& request) {
  std::vector<std::string> result;
  for (const std::string& option :
       compile_options(*request.kernel, request.configuration,
                       code_traits(*request.kernel, request.problem), request.architecture)) {
    if (option.starts_with("-D") && !option.starts_with("-DALIGNED=")) {
      result.push_back(option.substr(2));
    }
  }
  return result;
}

std::string meaning_of(const KernelTemplate& kernel, const std::string& macro) {
  const auto& all = kernel.space.parameters();
  const auto found =
      std::ranges::find_if(all, [&](const auto& each) { return each.name == macro; });
  return found == all.end() ? "" : "  // " + found->meaning;
}

std::string defines(const SourceRequest& request) {
  std::string result;
  for (const std::string& macro : macros_of(request)) {
    const std::size_t equals = macro.find('=');
    const std::string name = macro.substr(0, equals);
    result += fmt::format("#define {} {}{}\n", name, macro.substr(equals + 1),
                          meaning_of(*request.kernel, name));
  }
  result.pop_back();
  return result;
}

// The template's text with a comment in place of each directive that names the file of the lines
// behind it, and without the empty lines that included headers left.
std::string readable(std::string_view source) {
  constexpr std::string_view kBegin = "#line 1 \"";
  std::string result;
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(line.size() + 1, source.size()));
    if (line.starts_with(kBegin)) {
      const std::string_view file = line.substr(kBegin.size(), line.size() - kBegin.size() - 1);
      result += fmt::format("{}// ---- {} ----\n\n", result.ends_with("\n\n") ? "" : "\n", file);
    } else if (line.starts_with("#line ") || (line.empty() && result.ends_with("\n\n"))) {
      continue;
    } else {
      result += std::string(line) + '\n';
    }
  }
  const std::size_t first = result.find_first_not_of('\n');
  return result.substr(first, result.find_last_not_of('\n') + 1 - first);
}

}  // namespace

TextValues kernel_values(const SourceFacts& facts) {
  return {{"DEFINES", defines(facts.request)}, {"KERNEL", readable(facts.request.kernel->source)}};
}

}  // namespace autotune
