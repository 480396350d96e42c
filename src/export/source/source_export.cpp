#include "export/source/source_export.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "export/source/facts.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_source_texts();

namespace {

std::string_view text_of(std::string_view file) {
  const auto all = embedded_source_texts();
  return std::ranges::find_if(all, [&](const auto& one) { return one.name == file; })->text;
}

// A device takes 31 bits of blocks along x.
void check_launch(const SourceRequest& request) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const LaunchGeometry geometry = request.kernel->geometry(request.configuration, request.problem);
  if (geometry.blocks() <= kMost) return;
  throw UsageError(fmt::format("{} would need {} blocks, more than a launch has along x",
                               to_string(request.problem), geometry.blocks()));
}

}  // namespace

std::string source_name(const Problem& problem) {
  std::vector<std::int64_t> sizes;
  for (const Problem::Size& size : problem.sizes()) sizes.push_back(size.value);
  std::string name = fmt::format("{}_{}", problem.operation(), fmt::join(sizes, "x"));
  for (const Problem::Trait& trait : problem.traits()) name += "_" + trait.value;
  for (char& each : name) {
    const auto c = static_cast<unsigned char>(each);
    each = std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  }
  return name;
}

namespace {

// nvcc adds PTX of the general architecture to -arch=sm_90a, which kernels of sm_90a do not
// compile to.
std::string nvcc_architecture(const SourceRequest& request) {
  const std::string number = request.architecture.substr(std::string_view("sm_").size());
  if (!request.kernel->architecture_specific) return "-arch=sm_" + number;
  return fmt::format("-gencode=arch=compute_{0}a,code=sm_{0}a", number);
}

}  // namespace

std::vector<std::string> nvcc_options(const SourceRequest& request) {
  std::vector<std::string> options =
      compile_options(*request.kernel, request.configuration,
                      code_traits(*request.kernel, request.problem), request.architecture);
  std::erase_if(options, [](const std::string& option) {
    return option.starts_with("-D") || option.starts_with("-arch=") || option == "-Xptxas=-v" ||
           option == "--no-source-include" || option == "--device-as-default-execution-space";
  });
  options.insert(options.begin(), nvcc_architecture(request));
  return options;
}

std::string nvcc_test_command(const SourceRequest& request) {
  return fmt::format("nvcc -O2 {0} {1}.cu {1}_test.cpp -o {1}_test",
                     fmt::join(nvcc_options(request), " "), source_name(request.problem));
}

std::vector<SourceFile> stand_alone_source(const SourceRequest& request) {
  check_launch(request);
  const SourceFacts facts(request);
  const std::string banner = filled(text_of("banner.in"), banner_values(facts));
  const auto file = [&](const char* end, std::string_view text, const TextValues& values) {
    return SourceFile{facts.name + end, banner + filled(text_of(text), values)};
  };
  return {file(".h", "header.h.in", header_values(facts)),
          file(".cu", "launch.cu.in", launch_values(facts)),
          file("_kernel.cuh", "kernel.cuh.in", kernel_values(facts)),
          file("_test.cpp", "test.cpp.in", test_values(facts))};
}

}  // namespace autotune
