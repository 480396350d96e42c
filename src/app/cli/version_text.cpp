#include "cli/version_text.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "autotune/version.hpp"

#include "cli/driver_watch.hpp"
#include "gpu/gpu.hpp"

namespace autotune {

std::string version_text() {
  std::string text = fmt::format("autotune {}\nSQLite {}\n", kVersion, sqlite3_libversion());
  const NvrtcReport nvrtc = inspect_nvrtc();
  text += nvrtc.usable ? fmt::format("NVRTC {}\n", nvrtc.build) : "NVRTC not found\n";
  const DriverReport driver = driver_report();
  text += driver.usable ? fmt::format("NVIDIA driver {} (CUDA {}.{})\n", driver.release,
                                      driver.cuda_version / 1000, driver.cuda_version % 1000 / 10)
                        : "NVIDIA driver not found\n";
  return text;
}

}  // namespace autotune
