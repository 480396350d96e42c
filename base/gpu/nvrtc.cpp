#include "gpu/nvrtc.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <nvrtc.h>

#include "autotune/error.hpp"

#include "core/cubin.hpp"
#include "gpu/shared_library.hpp"

namespace autotune::gpu {

// NVRTC's functions, with the types that nvrtc.h gives them.
struct Nvrtc::Api {
  explicit Api(SharedLibrary opened) : library(std::move(opened)) {}

  SharedLibrary library;
#define AUTOTUNE_NVRTC(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
  AUTOTUNE_NVRTC(nvrtcVersion);
  AUTOTUNE_NVRTC(nvrtcGetNumSupportedArchs);
  AUTOTUNE_NVRTC(nvrtcGetSupportedArchs);
  AUTOTUNE_NVRTC(nvrtcGetErrorString);
  AUTOTUNE_NVRTC(nvrtcCreateProgram);
  AUTOTUNE_NVRTC(nvrtcDestroyProgram);
  AUTOTUNE_NVRTC(nvrtcCompileProgram);
  AUTOTUNE_NVRTC(nvrtcGetProgramLogSize);
  AUTOTUNE_NVRTC(nvrtcGetProgramLog);
  AUTOTUNE_NVRTC(nvrtcGetCUBINSize);
  AUTOTUNE_NVRTC(nvrtcGetCUBIN);
  AUTOTUNE_NVRTC(nvrtcGetPTXSize);
  AUTOTUNE_NVRTC(nvrtcGetPTX);
#undef AUTOTUNE_NVRTC

  [[nodiscard]] bool complete() const {
    return nvrtcVersion && nvrtcGetNumSupportedArchs && nvrtcGetSupportedArchs &&
           nvrtcGetErrorString && nvrtcCreateProgram && nvrtcDestroyProgram &&
           nvrtcCompileProgram && nvrtcGetProgramLogSize && nvrtcGetProgramLog &&
           nvrtcGetCUBINSize && nvrtcGetCUBIN && nvrtcGetPTXSize && nvrtcGetPTX;
  }
};

namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxLogBytes = std::size_t{64} << 10;
// The first version with a cache, and with the option that turns it off.
constexpr int kCacheSince = 1209;

std::vector<std::string> candidate_libraries() {
  const char* chosen = ::secure_getenv("AUTOTUNE_NVRTC");
  if (chosen != nullptr && *chosen != '\0') return {chosen};

  const std::vector<std::string> sonames = {"libnvrtc.so.13", "libnvrtc.so.12"};
  std::vector<std::string> names = sonames;
  for (const std::string& folder : toolkit_folders()) {
    for (const std::string& soname : sonames) names.push_back(folder + "/" + soname);
  }
  return names;
}

// A program that is destroyed with its scope.
class Program {
 public:
  template <typename Create, typename Destroy>
  Program(Create create, Destroy destroy, const std::string& source, const std::string& name)
      : destroy_(destroy) {
    created_ = create(&handle_, source.c_str(), name.c_str(), 0, nullptr, nullptr) == NVRTC_SUCCESS;
  }
  ~Program() {
    if (created_) destroy_(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] bool created() const { return created_; }
  [[nodiscard]] nvrtcProgram handle() const { return handle_; }

 private:
  decltype(&::nvrtcDestroyProgram) destroy_;
  nvrtcProgram handle_ = nullptr;
  bool created_ = false;
};

// Reads one of a program's texts or images; empty when there is none.
template <typename Size, typename Read>
std::string output(Size size_of, Read read, nvrtcProgram program) {
  std::size_t size = 0;
  if (size_of(program, &size) != NVRTC_SUCCESS || size == 0) return "";
  std::string bytes(size, '\0');
  return read(program, bytes.data()) == NVRTC_SUCCESS ? bytes : "";
}

// NVRTC's texts have a zero byte at their end.
std::string without_terminator(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// A long log is cut between two characters, since logs are stored and printed as UTF-8.
void limit_log(std::string& log) {
  if (log.size() <= kMaxLogBytes) return;
  std::size_t end = kMaxLogBytes;
  while (end > 0 && (static_cast<unsigned char>(log[end]) & 0xc0) == 0x80) --end;
  log.resize(end);
}

// Takes the resources from the log, which has the spills that the cubin lacks.
Resources read_resources(const std::string& log, const std::string& kernel,
                         const std::string& image) {
  const PtxasFigures figures = read_ptxas_log(log, kernel);
  Resources resources{.registers = figures.registers,
                      .spill_bytes = figures.spill_bytes,
                      .stack_bytes = figures.stack_bytes,
                      .shared_bytes = figures.shared_bytes};
  if (!image.empty()) resources.cubin_bytes = static_cast<std::int64_t>(image.size());
  return resources;
}

CompileResult refused(std::string why) {
  CompileResult result;
  result.log = "error: " + std::move(why);
  return result;
}

}  // namespace

Nvrtc::Nvrtc() {
  const std::vector<std::string> names = candidate_libraries();
  std::string problem;
  std::optional<SharedLibrary> library = SharedLibrary::open_first(names, &problem);
  if (!library && names.size() == 1) {
    throw EnvironmentError("the NVRTC that AUTOTUNE_NVRTC names cannot be opened: " + problem);
  }
  if (!library) {
    throw EnvironmentError(
        "NVRTC, the CUDA run-time compiler, was not found (libnvrtc.so.13 or .12): "
        "install the CUDA toolkit, or name the library in AUTOTUNE_NVRTC (scripts/autotune names "
        "the one that scripts/setup installs)");
  }
  path_ = library->path();
  auto api = std::make_unique<Api>(std::move(*library));
  if (!api->complete() || api->nvrtcVersion(&major_, &minor_) != NVRTC_SUCCESS || major_ < 12 ||
      (major_ == 12 && minor_ < 1)) {
    throw EnvironmentError(path_ + " is not an NVRTC of CUDA 12.1 or newer");
  }
  int count = 0;
  api->nvrtcGetNumSupportedArchs(&count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  api->nvrtcGetSupportedArchs(numbers.data());
  for (const int number : numbers) architectures_.push_back(fmt::format("sm_{}", number));
  api_ = std::move(api);
  build_ = read_build();
}

Nvrtc::~Nvrtc() = default;

std::shared_ptr<const Nvrtc> Nvrtc::open() {
  return std::shared_ptr<const Nvrtc>(new Nvrtc());
}

CompileResult Nvrtc::compile(const std::string& name, const std::string& source,
                             const std::vector<std::string>& options) const {
  if (source.find('\0') != std::string::npos) return refused("the source has a zero byte");
  if (source.size() > kMaxSourceBytes) return refused("the source is longer than 1 MiB");

  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  if (100 * major_ + minor_ >= kCacheSince) arguments.push_back("--no-cache");

  const Program program(api_->nvrtcCreateProgram, api_->nvrtcDestroyProgram, source, name + ".cu");
  if (!program.created()) return refused("NVRTC refused the source");
  const nvrtcResult code = api_->nvrtcCompileProgram(
      program.handle(), static_cast<int>(arguments.size()), arguments.data());

  CompileResult result;
  result.log = without_terminator(
      output(api_->nvrtcGetProgramLogSize, api_->nvrtcGetProgramLog, program.handle()));
  if (code != NVRTC_SUCCESS && result.log.empty()) {
    result.log = fmt::format("error: {}", api_->nvrtcGetErrorString(code));
  }
  if (code == NVRTC_SUCCESS) {
    // Where a result is missing, its getter succeeds with an empty one.
    result.ptx =
        without_terminator(output(api_->nvrtcGetPTXSize, api_->nvrtcGetPTX, program.handle()));
    result.image = output(api_->nvrtcGetCUBINSize, api_->nvrtcGetCUBIN, program.handle());
    if (result.image.empty()) result.image = result.ptx;
  }
  result.resources = read_resources(result.log, name, result.image);
  limit_log(result.log);
  result.ok = !result.image.empty();
  return result;
}

std::string Nvrtc::read_build() const {
  const CompileResult empty = compile("build", "", {});
  if (!empty.ok) {
    throw EnvironmentError(fmt::format("NVRTC {} does not work: {}", path_,
                                       empty.log.substr(0, empty.log.find('\n'))));
  }
  // "// Compiler Build ID: CL-36424714" and "// Cuda compilation tools, release 13.0, V13.0.88".
  const auto word_after = [&](const std::string& mark) {
    const std::size_t at = empty.ptx.find(mark);
    if (at == std::string::npos) return std::string();
    const std::size_t start = at + mark.size();
    return empty.ptx.substr(start, empty.ptx.find_first_of(" \n", start) - start);
  };
  const std::string version = word_after(", V");
  const std::string id = word_after("Build ID: ");
  if (version.empty()) return fmt::format("{}.{}", major_, minor_);
  return id.empty() ? version : version + " " + id;
}

}  // namespace autotune::gpu
