#include "cli/progress.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/table.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
constexpr int kBarWidth = 24;
constexpr int kDefaultColumns = 80;

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : kDefaultColumns;
}

std::string bar(double part) {
  const int filled = static_cast<int>(part * kBarWidth);
  return std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - filled), '.');
}

std::string line_for(const TuneProgress& progress) {
  const double part = progress.total > 0
                          ? static_cast<double>(progress.done) / static_cast<double>(progress.total)
                          : 0;
  std::string line = fmt::format("{} [{}] {}/{}", progress.phase, bar(std::min(part, 1.0)),
                                 progress.done, progress.total);
  if (progress.remaining_s) line += fmt::format("  {:.0f} s left", *progress.remaining_s);
  for (const auto& [problem, us] : progress.best_us) {
    RateColumn rate;
    rate.add(gflops(gemm_problem(problem), us));
    line += fmt::format("  {}: {} {}", to_string(gemm_problem(problem)),
                        rate.text(gflops(gemm_problem(problem), us)), rate.title());
  }
  return line;
}

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) != 0), color_(std::getenv("NO_COLOR") == nullptr) {}

void ProgressLine::hide() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressLine::show(const TuneProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_ < kInterval) return;
  last_ = now;
  std::string line = line_for(progress);
  const auto columns = static_cast<std::size_t>(terminal_columns());
  if (line.size() >= columns) line.resize(columns - 1);
  std::fprintf(stderr, color_ ? "\r\033[2m%s\033[0m\033[K" : "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace autotune
