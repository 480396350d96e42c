// autotune doctor: what tuning needs, what of it is here and where it was found.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/tuning_setup.hpp"
#include "cpu/compiler.hpp"
#include "db/cubin_store.hpp"
#include "gpu/gpu.hpp"

namespace autotune {
namespace {

void print_line(const char* what, const std::string& state) {
  fmt::print("{:<10} {}\n", what, state);
}

void report_database() {
  try {
    const std::filesystem::path path = default_database_path();
    const std::optional<TuningDatabase> database = TuningDatabase::open_read_only(path);
    print_line("database",
               database ? fmt::format("{}, {} trials", path.string(), database->stats().trials)
                        : path.string() + ", not made yet");
  } catch (const Error& error) {
    print_line("database", error.what());
  }
}

std::string describe_host_compiler() {
  try {
    const CpuCompiler compiler;
    return fmt::format("{}, {}", compiler.build(), compiler.path());
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

int run_doctor() {
  print_line("program", own_program_path().string());
  const DriverReport driver = inspect_driver();
  print_line("driver",
             driver.usable
                 ? fmt::format("{}, CUDA {}.{}, {}", driver.release, driver.cuda_version / 1000,
                               driver.cuda_version % 1000 / 10, driver.library_path)
                 : driver.problem);
  for (const DeviceInfo& device : driver.devices) {
    print_line("GPU", fmt::format("{}: {}", device.ordinal, describe(device)));
    if (const std::string warning = device_warning(device); !warning.empty())
      print_line("", warning);
  }
  const NvrtcReport nvrtc = inspect_nvrtc();
  print_line("NVRTC",
             nvrtc.usable ? fmt::format("{}, {}", nvrtc.build, nvrtc.library_path) : nvrtc.problem);
  if (nvrtc.usable)
    print_line("", fmt::format("compiles for {}", fmt::join(nvrtc.architectures, " ")));
  print_line("C++", describe_host_compiler());
  report_database();
  const auto cubins = default_cubin_store_path();
  print_line("cubins", cubins ? cubins->string() : "no place: set XDG_CACHE_HOME or HOME");
  const bool can_tune = driver.usable && nvrtc.usable;
  print_line("tuning", can_tune ? "possible" : "on the host device alone, which needs C++");
  return can_tune ? exit_code::kDone : exit_code::kEnvironment;
}

}  // namespace

void add_doctor_command(CommandLine& command_line) {
  CLI::App* command = command_line.app.add_subcommand("doctor", "Check what tuning needs");
  command->callback([&command_line] { command_line.action = run_doctor; });
}

}  // namespace autotune
