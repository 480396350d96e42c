#include "cli/output/version_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "autotune/version.hpp"

#include "cli/call_watch.hpp"
#include "gpu/gpu.hpp"

namespace autotune {

std::string version_text() {
  std::string text = fmt::format("autotune {}\nSQLite {}\n", kVersion, sqlite3_libversion());
  const NvrtcReport nvrtc = watched(kCompiler, inspect_nvrtc);
  return text + (nvrtc.usable ? fmt::format("NVRTC {}\n", nvrtc.build) : "NVRTC not found\n");
}

std::string version_json() {
  const NvrtcReport nvrtc = watched(kCompiler, inspect_nvrtc);
  nlohmann::ordered_json document = {{"schema", 1},
                                     {"command", "version"},
                                     {"autotune", kVersion},
                                     {"sqlite", sqlite3_libversion()},
                                     {"nvrtc", nullptr}};
  if (nvrtc.usable) document["nvrtc"] = nvrtc.build;
  return document.dump(2) + "\n";
}

}  // namespace autotune
