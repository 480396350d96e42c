// Sources that hurt a compiler, and a compiler that is broken itself.
#include <fmt/format.h>
#include <sys/stat.h>

#include "tests/app/cli/fake_machine.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune::test {
namespace {

// Each line doubles the one before.
std::string doubling_macros(int lines) {
  std::string source = "#define A0 1.0f + 1.0f\n";
  for (int i = 1; i < lines; ++i) {
    const std::string last = "A" + std::to_string(i - 1);
    source += "#define A" + std::to_string(i) + " " + last + " + " + last + "\n";
  }
  return source + "extern \"C\" __global__ void bomb(float* c) { *c = A" +
         std::to_string(lines - 1) + "; }\n";
}

std::string kernel_with(const std::string& body) {
  return "extern \"C\" __global__ void bomb(float* c) { " + body + " }\n";
}

TEST_SUITE("compile workers") {
  TEST_CASE("a source that hurts NVRTC costs its worker at most and says why") {
    if (!can_compile()) return;
    const TemporaryFolder folder;
    const std::string pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const std::pair<const char*, std::string> bombs[] = {
        {"macros", doubling_macros(40)},
        {"pipe", "#include \"" + pipe + "\"\n" + kernel_with("")},
        {"shared memory",
         kernel_with("__shared__ float s[50000]; s[threadIdx.x] = *c; *c = s[1];")},
        {"assembly", kernel_with("asm(\"no such instruction;\");")},
        {"assertion", "static_assert(false, \"as planted\");\n" + kernel_with("")},
        {"code as a macro's value", kernel_with("*c = VALUE")},
    };
    const auto worker = make_process_worker(AUTOTUNE_PROGRAM, 0);
    for (const auto& [name, source] : bombs) {
      CAPTURE(std::string(name));
      const CompileRequest request{.name = "bomb", .source = source, .options = {"-arch=sm_90"}};
      const WorkerOutcome outcome = worker->call(request, std::chrono::seconds(3));
      if (const auto* failure = std::get_if<WorkerFailure>(&outcome)) {
        CHECK(failure->reason != "");
      } else {
        const auto& reply = std::get<CompileReply>(std::get<WorkerReply>(outcome));
        CHECK_FALSE(reply.ok);
        CHECK(reply.log != "");
      }
      const CompileRequest sound{.name = "sound",
                                 .source = "extern \"C\" __global__ void sound() {}",
                                 .options = {"-arch=sm_90"}};
      const WorkerOutcome next = worker->call(sound, std::chrono::minutes(2));
      CHECK(std::get<CompileReply>(std::get<WorkerReply>(next)).ok);
    }
  }

  TEST_CASE("an NVRTC whose own files are broken is named with its reason") {
    if (!can_compile()) return;
    const TemporaryFolder folder;
    const NvrtcReport nvrtc = inspect_nvrtc();
    const std::string builtins =
        fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.major, nvrtc.minor);
    std::ofstream(folder.path() / builtins) << "broken\n";
    // A wheel's NVRTC looks for it in its own folder first, a toolkit's where the loader does.
    const std::string library = folder.path() / "libnvrtc.so";
    std::filesystem::create_symlink(nvrtc.library_path, library);
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_NVRTC", library);
    program.environment.emplace_back("LD_LIBRARY_PATH", folder.path());
    const ProgramResult result = program({"--sizes", "64", "--trials", "1"});
    CHECK(result.exit_code == kEnvironment);
    CHECK(result.out == "");
    check_line(result, "does not work: nvrtc: error: failed to open libnvrtc-builtins.so");
    CHECK(trials_in(program.database) == 0);
  }
}

}  // namespace
}  // namespace autotune::test
