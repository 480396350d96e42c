// autotune doctor: checks the requirements of tuning, prints what was found and where, and says
// what to do about what is missing.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cli/call_watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "db/cubin_store.hpp"
#include "db/default_paths.hpp"
#include "gpu/gpu.hpp"
#include "tuner/measure/cpu_service.hpp"

namespace autotune {
namespace {

struct Check {
  const char* name = "";
  bool ok = false;
  std::string state;
  std::string advice;     // empty: nothing is to be done
  bool prevents = false;  // nothing can be tuned before it is mended
};

Check check_driver(const DriverReport& driver) {
  if (driver.usable) {
    return {"driver", true,
            fmt::format(
                "{}, CUDA {}.{}, {}", driver.release.empty() ? "version unknown" : driver.release,
                driver.cuda_version / 1000, driver.cuda_version % 1000 / 10, driver.library_path)};
  }
  return {"driver", false, driver.problem,
          driver.no_gpu ? "to use an NVIDIA GPU, install its driver, version 525 or newer"
                        : "nvidia-smi says whether the driver works: reinstall it, or restart"};
}

Check check_nvrtc(const NvrtcReport& nvrtc) {
  if (nvrtc.usable) {
    return {"NVRTC", true,
            fmt::format("{}, {}, compiles for {}", nvrtc.build, nvrtc.library_path,
                        fmt::join(nvrtc.architectures, " "))};
  }
  return {"NVRTC", false, nvrtc.problem,
          "install a CUDA toolkit, or: pip install nvidia-cuda-nvrtc; AUTOTUNE_NVRTC names a "
          "libnvrtc.so that is not found"};
}

Check check_cpu_compiler() {
  const auto found =
      std::get<DescribeCompilerReply>(make_cpu_service()->handle(DescribeCompilerRequest{}));
  if (found.problem.empty()) return {"C++", true, found.build + ", " + found.path};
  return {"C++", false, found.problem,
          std::getenv("CXX") == nullptr
              ? "the CPU device needs a C++ compiler: apt install g++, or name one in CXX"
              : "CXX must name a C++ compiler that works: correct it, or unset it"};
}

Check check_database() {
  try {
    check_database_folder("");
    const std::filesystem::path path = default_database_path();
    const std::optional<TuningDatabase> database = TuningDatabase::open_default_read_only();
    if (!database) return {"database", true, path.string() + ", which does not exist yet"};
    const bool writable = ::access(path.c_str(), W_OK) == 0;
    return {"database", writable,
            fmt::format("{}, {}{}", path.string(), counted(database->stats().trials, "trial"),
                        writable ? "" : ", cannot be written"),
            writable ? "" : "results of tuning are not kept: name another file in AUTOTUNE_DB"};
  } catch (const UsageError& error) {
    return {"database", false, error.what(), "", true};
  } catch (const Error& error) {
    return {"database", false, error.what(), "name another file in AUTOTUNE_DB"};
  }
}

Check check_cubins() {
  const auto path = default_cubin_store_path();
  constexpr const char* kAdvice =
      "every run compiles again: set XDG_CACHE_HOME to a folder that can be written";
  if (!path) return {"cubins", false, "not kept: there is no home", kAdvice};
  std::string problem = CubinStore::open(*path).problem();
  if (problem.empty()) return {"cubins", true, path->string()};
  return {"cubins", false, std::move(problem), kAdvice};
}

std::string advice_for(const DeviceInfo& device, const GpuState& state) {
  if (const std::string warning = device_warning(device); !warning.empty()) return warning;
  if (state.processes.value_or(0) > 0) {
    return "other programs have the GPU open: times are steadier without them";
  }
  if (state.persistence == 0) {
    return "the driver unloads between runs: nvidia-smi -pm 1 makes them start sooner";
  }
  return "";
}

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<int>& value) {
  return value ? Json(*value) : Json();
}

Json gpu_json(const DeviceInfo& device, const GpuState& state) {
  return {{"ordinal", device.ordinal},
          {"label", device.label},
          {"uuid", device.uuid},
          {"mig", device.mig},
          {"sm_clock_mhz", or_null(state.sm_clock_mhz)},
          {"max_sm_clock_mhz", or_null(state.max_sm_clock_mhz)},
          {"power_milliwatts", or_null(state.power_milliwatts)},
          {"power_limit_milliwatts", or_null(state.power_limit_milliwatts)},
          {"persistence", or_null(state.persistence)},
          {"processes", or_null(state.processes)}};
}

// "SM clock 345 of 1980 MHz, 76 of 700 W, persistence on, MIG off, 0 other programs".
std::string gpu_text(const DeviceInfo& device, const GpuState& state) {
  const auto text = [](const std::optional<int>& figure, int unit) {
    return figure ? std::to_string(*figure / unit) : "?";
  };
  return fmt::format("SM clock {} of {} MHz, {} of {} W, persistence {}, MIG {}, {} other programs",
                     text(state.sm_clock_mhz, 1), text(state.max_sm_clock_mhz, 1),
                     text(state.power_milliwatts, 1000), text(state.power_limit_milliwatts, 1000),
                     !state.persistence   ? "?"
                     : *state.persistence ? "on"
                                          : "off",
                     device.mig ? "on" : "off", text(state.processes, 1));
}

// Collects the checks. Their text is printed at once, since the driver may never answer.
class Findings {
 public:
  explicit Findings(bool as_json) : as_json_(as_json) {}

  void add(Check check) {
    if (!as_json_) print(check);
    checks_.push_back(std::move(check));
  }
  void add_gpu(const DeviceInfo& device, const GpuState& state) {
    const std::string advice = advice_for(device, state);
    add({"GPU", advice.empty(),
         fmt::format("{}: {}, {}", device.ordinal, describe(device), gpu_text(device, state)),
         advice});
    gpus_.push_back(gpu_json(device, state));
  }

  // Says what can be tuned for: "gpu", "cpu" or "none".
  void finish(const std::string& tuning) {
    if (!as_json_) {
      print({"tuning", true,
             tuning == "gpu"   ? "possible"
             : tuning == "cpu" ? "possible on the CPU device only, whose times say nothing "
                                 "about a GPU"
                               : "impossible until the problems above are solved"});
      return;
    }
    Json document = {{"schema", 1}, {"command", "doctor"}, {"tuning", tuning}};
    for (const Check& check : checks_) {
      Json entry = {{"name", check.name}, {"ok", check.ok}, {"state", check.state}};
      entry["advice"] = check.advice.empty() ? Json() : Json(check.advice);
      document["checks"].push_back(std::move(entry));
    }
    document["gpus"] = gpus_;
    print_document(document);
    static_cast<void>(flush_output());
  }

  // The end where `awaited` does not answer.
  [[nodiscard]] CallWatch::LastWords unanswered(const char* name, const Awaited& awaited) {
    return [this, name, awaited](std::chrono::milliseconds waited) {
      add({name, false, fmt::format("has not answered for {} s", waited.count() / 1000),
           awaited.advice});
      finish("none");
    };
  }

 private:
  static void print(const Check& check) {
    fmt::print("{:<10} {}\n", check.name, printable(check.state));
    if (!check.advice.empty()) fmt::print("{:<10} -> {}\n", "", check.advice);
    static_cast<void>(flush_output());  // which remembers an error
  }

  bool as_json_;
  std::vector<Check> checks_;
  Json gpus_ = Json::array();
};

int run_doctor(const Options& options) {
  Findings findings(options.json);
  findings.add({"program", true, own_program_path().string()});
  const Check cpu_compiler = check_cpu_compiler();
  findings.add(cpu_compiler);
  const Check database = check_database();
  findings.add(database);
  findings.add(check_cubins());
  const Check nvrtc =
      check_nvrtc(watched(kCompiler, inspect_nvrtc, findings.unanswered("NVRTC", kCompiler)));
  findings.add(nvrtc);
  const CallWatch::LastWords unanswered = findings.unanswered("driver", kDriver);
  const DriverReport driver = driver_report(unanswered);
  findings.add(check_driver(driver));
  for (const DeviceInfo& device : driver.devices) {
    const auto look = [&] { return inspect_state(device); };
    findings.add_gpu(device, watched(kDriver, look, unanswered));
  }
  const bool for_gpu = !database.prevents && driver.usable && nvrtc.ok;
  const bool for_cpu = !database.prevents && driver.no_gpu && cpu_compiler.ok;
  findings.finish(for_gpu ? "gpu" : for_cpu ? "cpu" : "none");
  return for_gpu || for_cpu ? exit_code::kDone : exit_code::kEnvironment;
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "doctor",
                  "Check what tuning needs, and say what to do about what is missing", run_doctor);
  add_options(command, options, {"--json"});
  command.footer("autotune doctor");
}

}  // namespace autotune
