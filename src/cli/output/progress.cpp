#include "cli/output/progress.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "cli/output/progress_text.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
constexpr std::chrono::seconds kPlainInterval(10);
constexpr std::size_t kDefaultColumns = 80;
constexpr std::size_t kPlainColumns = 200;

bool has_color() {
  const char* const without = std::getenv("NO_COLOR");
  return without == nullptr || *without == '\0';
}

}  // namespace

ProgressLine::ProgressLine(const std::string& mode)
    : plain_(mode == "plain"),
      terminal_(mode == "auto" && can_rewrite_lines()),
      color_(has_color()) {}

void ProgressLine::hide() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressLine::show(const TuneProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::milliseconds interval = plain_ ? kPlainInterval : kInterval;
  const bool waits = std::string_view(progress.phase).starts_with("waiting");
  const bool is_first_wait = plain_ && waits && !std::exchange(told_of_wait_, waits);
  if ((!terminal_ && !plain_) || (now - last_ < interval && !is_first_wait)) return;
  last_ = now;
  if (plain_) {
    std::fprintf(stderr, "%s\n", progress_text(progress, kPlainColumns).c_str());
    return;
  }
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(kDefaultColumns);
  const std::string line = progress_text(progress, columns - 1);
  std::fprintf(stderr, color_ ? "\r\033[2m%s\033[0m\033[K" : "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace autotune
