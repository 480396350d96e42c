#include "cli/commands/worker_command.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>

#include "autotune/version.hpp"

#include "tuner/measure/cpu_service.hpp"
#include "tuner/measure/gpu_service.hpp"
#include "tuner/worker/child_process.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

constexpr int kMissing = -1000;

std::string_view text_option(int argc, char** argv, std::string_view name) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (name == argv[i]) return argv[i + 1];
  }
  return "";
}

int option(int argc, char** argv, std::string_view name) {
  const std::string_view text = text_option(argc, argv, name);
  int value = kMissing;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int run_worker_command(int argc, char** argv) {
  const int fd = option(argc, argv, "--fd");
  const int device = option(argc, argv, "--device");
  const int parent = option(argc, argv, "--parent");
  if (fd < 0 || device == kMissing || parent < 1) {
    std::fprintf(stderr, "autotune: 'worker' is a command for the program itself, not for users\n");
    return 2;
  }
  if (text_option(argc, argv, "--version") != kVersion) {
    std::fprintf(stderr, "this is autotune %s: a worker must be of its caller's version\n",
                 kVersion);
    return 2;
  }
  if (!enter_worker_process(parent)) return 0;
  const int memory_mib = option(argc, argv, "--memory-mib");
  if (memory_mib > 0) limit_memory(std::int64_t{memory_mib} << 20);
  return serve(fd, device == kCpuOrdinal ? *make_cpu_service() : *make_gpu_service(device));
}

}  // namespace autotune
