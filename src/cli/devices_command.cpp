// autotune devices: the GPUs of this machine.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"
#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/table.hpp"
#include "gpu/gpu.hpp"

namespace autotune {
namespace {

int run_devices(bool as_json) {
  const DriverReport driver = inspect_driver();
  if (!driver.usable) throw EnvironmentError(driver.problem);
  nlohmann::ordered_json document = {{"schema", 1}, {"command", "devices"}};
  document["devices"] = nlohmann::ordered_json::array();
  Table table({"GPU", "name", "architecture", "SMs", "memory GiB", "SM clock MHz", "UUID"});
  for (const DeviceInfo& device : driver.devices) {
    constexpr double kGiB = 1 << 30;
    const double memory_gib = static_cast<double>(device.memory_bytes) / kGiB;
    table.add({std::to_string(device.ordinal), device.label, device.architecture(),
               std::to_string(device.sm_count), fmt::format("{:.1f}", memory_gib),
               std::to_string(device.sm_clock_khz / 1000), device.uuid});
    document["devices"].push_back({{"ordinal", device.ordinal},
                                   {"label", device.label},
                                   {"architecture", device.architecture()},
                                   {"sm_count", device.sm_count},
                                   {"memory_bytes", device.memory_bytes},
                                   {"silicon_class", device.silicon_class()},
                                   {"uuid", device.uuid},
                                   {"driver", device.driver_release}});
  }
  fmt::print("{}", as_json ? document.dump(2) + "\n" : table.text());
  return exit_code::kDone;
}

}  // namespace

void add_devices_command(CommandLine& line) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = line.app.add_subcommand("devices", "List the GPUs of this machine");
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([&line, as_json] { line.action = [as_json] { return run_devices(*as_json); }; });
}

}  // namespace autotune
