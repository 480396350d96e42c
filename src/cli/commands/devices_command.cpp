// autotune devices: lists what --device can name on this machine.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/call_watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/options.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cpu/device.hpp"

namespace autotune {
namespace {

int run_devices(const Options& options) {
  const DriverReport driver = driver_report();
  if (!driver.usable && !driver.no_gpu) throw EnvironmentError(driver.problem);
  if (driver.no_gpu) say(driver.problem);
  std::vector<DeviceInfo> devices = driver.devices;
  devices.push_back(cpu_device_info());
  nlohmann::ordered_json document = {{"schema", 1}, {"command", "devices"}};
  document["devices"] = nlohmann::ordered_json::array();
  Table table({"device", "name", "architecture", "SMs or cores", "memory GiB", "UUID"});
  for (const DeviceInfo& device : devices) {
    const std::string option = device.is_cpu() ? "cpu" : std::to_string(device.ordinal);
    const double memory_gib = static_cast<double>(device.memory_bytes) * 0x1p-30;
    table.add({option, device.label, device.architecture(), std::to_string(device.sm_count),
               fmt::format("{:.1f}", memory_gib), device.uuid});
    document["devices"].push_back({{"device", option},
                                   {"label", device.label},
                                   {"architecture", device.architecture()},
                                   {"sm_count", device.sm_count},
                                   {"memory_bytes", device.memory_bytes},
                                   {"silicon_class", device.device_class()},
                                   {"uuid", device.uuid},
                                   {"driver", device.driver_release}});
  }
  if (options.json) {
    print_document(document);
  } else {
    fmt::print("{}", table.text(output_columns()));
  }
  return exit_code::kDone;
}

}  // namespace

void add_devices_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "devices", "List the devices of this machine, as --device names them", run_devices);
  add_options(command, options, {"--json"});
  command.footer("autotune devices");
}

}  // namespace autotune
