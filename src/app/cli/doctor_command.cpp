// autotune doctor: checks the requirements of tuning, and prints what was found and where.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/tuning_setup.hpp"
#include "cpu/compiler.hpp"
#include "db/cubin_store.hpp"
#include "db/default_paths.hpp"
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
                        : path.string() + ", which does not exist yet");
  } catch (const Error& error) {
    print_line("database", error.what());
  }
}

std::string describe_cpu_compiler() {
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
  print_line("C++", describe_cpu_compiler());
  report_database();
  const auto cubins = default_cubin_store_path();
  print_line("cubins", cubins ? cubins->string() : "not kept: set XDG_CACHE_HOME or HOME");
  const bool can_tune = driver.usable && nvrtc.usable;
  print_line("tuning", can_tune ? "possible" : "possible on the CPU device alone, which needs C++");
  return can_tune ? exit_code::kDone : exit_code::kEnvironment;
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  add_command(line, "doctor", "Check what tuning needs", run_doctor);
}

}  // namespace autotune
