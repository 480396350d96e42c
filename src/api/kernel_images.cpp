#include "api/kernel_images.hpp"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/setup.hpp"
#include "core/compile_target.hpp"

namespace autotune {
namespace {

// In place of a compiler's build: what gemm() used last, whatever compiled it. With it a kernel is
// found where there is no compiler to ask for its build.
constexpr const char* kAnyBuild = "any";

}  // namespace

KernelImages::KernelImages(DeviceInfo device, const Log& log, CubinStore& store, MissPolicy miss)
    : device_(std::move(device)), log_(log), store_(store), miss_(miss) {}

std::string KernelImages::image(const KernelTemplate& kernel, const Configuration& configuration,
                                const CodeTraits& traits, const std::string& compiler_build) {
  const auto request_for = [&](const CodeTraits& wanted) {
    return CompileRequest{kernel.name, std::string(kernel.source),
                          compile_options(kernel, configuration, wanted, device_.architecture())};
  };
  const auto stored = [&](const CompileRequest& request) {
    std::optional<StoredCubin> found;
    for (const std::string& build : {compiler_build, std::string(kAnyBuild)}) {
      if (!found && !build.empty()) {
        found = store_.find(cubin_key(build, request.source, request.options));
      }
    }
    return found;
  };
  const CompileRequest request = request_for(traits);
  auto found = stored(request);
  if (const std::string problem = store_.take_problem(); !problem.empty()) {
    log_.warning("compiled kernels: {}", problem);
  }
  if (found) return std::move(found->cubin);
  try {
    StoredCubin compiled = compile(kernel, request);
    store_.put(cubin_key(kAnyBuild, request.source, request.options), compiled);
    return std::move(compiled.cubin);
  } catch (const Error& error) {
    // Code for any operands serves aligned ones too.
    const bool no_compiler =
        error.code() == ErrorCode::environment || error.code() == ErrorCode::not_tuned;
    auto general = no_compiler && traits.aligned
                       ? stored(request_for({traits.macros, /*aligned=*/false}))
                       : std::nullopt;
    if (!general) throw;
    return std::move(general->cubin);
  }
}

// Each thread that compiles has a compiler of its own, so that none waits for another's kernel.
StoredCubin KernelImages::compile(const KernelTemplate& kernel, CompileRequest request) {
  if (miss_ == MissPolicy::refuse) {
    throw NotTunedError("the kernel is not in the cubin store, and nothing may be compiled");
  }
  std::unique_ptr<WorkerService> compiler;
  {
    const std::lock_guard lock(compilers_mutex_);
    if (!idle_compilers_.empty()) {
      compiler = std::move(idle_compilers_.back());
      idle_compilers_.pop_back();
    }
  }
  if (!compiler) compiler = make_service(device_);
  const auto described =
      std::get<DescribeCompilerReply>(compiler->handle(DescribeCompilerRequest{}));
  if (described.build.empty()) {
    throw EnvironmentError("the kernel is not in the cubin store, and " + described.problem);
  }
  request.options.front() =
      architecture_option(kernel, compile_target(device_, described.architectures));
  auto reply = std::get<CompileReply>(compiler->handle(request));
  {
    const std::lock_guard lock(compilers_mutex_);
    idle_compilers_.push_back(std::move(compiler));
  }
  if (!reply.problem.empty()) throw EnvironmentError(reply.problem);
  if (!reply.ok) {
    throw Error(fmt::format("{} does not compile: {}", request.name,
                            reply.log.substr(0, reply.log.find('\n'))));
  }
  log_.info("{} was compiled in {:.0f} ms", request.name, reply.resources.compile_ms);
  return {std::move(reply.cubin), std::move(reply.log), reply.resources};
}

}  // namespace autotune
