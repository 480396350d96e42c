// Sources that hurt a compiler, and a compiler that is broken itself.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "tests/cli/fake_machine.hpp"
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

TEST_SUITE("a compiler that hangs") {
  TEST_CASE("it is said to be waited for, whatever the command") {
    Program program;
    program.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
    program.environment.emplace_back("AUTOTUNE_NVRTC", AUTOTUNE_OLD_NVRTC);
    program.environment.emplace_back("OLD_NVRTC_HANGS", "1");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"--sizes", "64"}, {"run", "--sizes", "64"}, {"--version"}}) {
      CAPTURE(command.front());
      RunningProgram running(program, command);
      running.wait_for_words("waiting for the compiler");
      CHECK(running.is_running());
      const ProgramResult result = running.finish_with(SIGKILL);
      CHECK(result.err == "autotune: waiting for the compiler\n");
    }
  }
}

TEST_SUITE("the CPU device's compiler") {
  TEST_CASE("it ends with the program, which ends with its budget") {
    const OrphanWatch orphans;
    Program program;
    const std::filesystem::path& folder = program.folder.path();
    const std::string compiler = folder / "c++";
    // Hangs for every kernel but the one that the program tries its compiler with.
    std::ofstream(compiler) << "#!/bin/sh\n"
                               "[ \"$1\" = --version ] && exec c++ \"$@\"\n"
                               "grep -q autotune_call_probe $TMPDIR/kernel.cu && exec c++ \"$@\"\n"
                               "touch "
                            << folder / "hangs"
                            << "\nexec sleep 1000\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    program.environment.emplace_back("CXX", compiler);
    std::vector<std::string> tune = {"--sizes", "32", "--device", "cpu", "--jobs", "2", "--budget"};
    const auto has_folders = [&] {
      const std::filesystem::directory_iterator files(folder);
      return std::any_of(begin(files), end(files), [](const auto& file) {
        return has(file.path().filename(), "autotune-kernel-");
      });
    };

    tune.emplace_back("2s");
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = program(tune);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));  // not 30
    CHECK(result.exit_code == kNoneCorrect);
    CHECK(has(result.out, "no kernel was compiled in "));
    CHECK(has(result.out, " s of search: the budget is too short, or the compiler hangs"));
    CHECK(OrphanWatch::has_no_children());
    CHECK_FALSE(has_folders());
    CHECK(trials_in(program.database) == 0);

    std::filesystem::remove(folder / "hangs");
    tune.back() = "60s";
    RunningProgram killed(program, tune);
    while (!std::filesystem::exists(folder / "hangs")) REQUIRE(killed.is_running());
    killed.finish_with(SIGKILL);
    CHECK(OrphanWatch::has_no_children());
  }

  TEST_CASE("a disk that fills while it compiles ends the run and is no kernel's fault") {
    Program program;
    const std::string compiler = program.folder.path() / "c++";
    std::ofstream(compiler)
        << "#!/bin/sh\n"
           "[ \"$1\" = --version ] && exec c++ \"$@\"\n"
           "grep -q autotune_call_probe $TMPDIR/kernel.cu && exec c++ \"$@\"\n"
           "echo 'k.cu:1:2: fatal error: error writing to a.s: No space left on "
           "device' >&2\nexit 1\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    program.environment.emplace_back("CXX", compiler);
    const ProgramResult result = program({"--sizes", "32", "--device", "cpu", "--trials", "3"});
    CHECK(result.exit_code == kEnvironment);
    check_line(result, "kernels cannot be compiled: ");
    CHECK(has(result.err, "No space left on device"));
    CHECK(trials_in(program.database) == 0);
  }

  TEST_CASE("a disk that fills after some trials ends the run, which prints and keeps them") {
    const OrphanWatch orphans;
    Program program;
    const std::string compiler = program.folder.path() / "c++";
    const std::string full = program.folder.path() / "full";
    // Compiles four kernels besides the one that the program tries its compiler with.
    std::ofstream(compiler) << "#!/bin/sh\n"
                               "[ \"$1\" = --version ] && exec c++ \"$@\"\n"
                               "grep -q autotune_call_probe $TMPDIR/kernel.cu && exec c++ \"$@\"\n"
                               "for n in 1 2 3 4; do mkdir "
                            << full
                            << "$n 2> /dev/null && exec c++ \"$@\"; done\n"
                               "echo 'k.cu:1:2: fatal error: error writing to a.s: No space left "
                               "on device' >&2\nexit 1\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    program.environment.emplace_back("CXX", compiler);
    std::vector<std::string> tune = {"--sizes", "32", "--device", "cpu", "--jobs", "1"};
    const ProgramResult result = program(tune);
    CAPTURE(result.out);
    CHECK(result.exit_code == kEnvironment);
    check_line(result, "kernels cannot be compiled: ");
    CHECK(has(result.err, "No space left on device"));
    CHECK(has(result.err, "; these are the results so far\n"));
    CHECK(has(result.out, "32x32x32"));
    CHECK(has(result.out, "stored in "));
    const std::int64_t stored = trials_in(program.database);
    CHECK(stored > 0);
    CHECK(OrphanWatch::has_no_children());
    const ProgramResult query = program({"query", "--device", "cpu", "--sizes", "32", "--exact"});
    CHECK(query.exit_code == kSuccess);
  }

  TEST_CASE("limits of the program's processes are named") {
    Program program;
    const std::string tune = " --sizes 32 --device cpu --trials 1";
    const auto limited = [&](const std::string& limit, const std::string& command) {
      // Descriptors that the tests were started with would count as the program's.
      const std::string line =
          "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit " + limit + "; exec " + AUTOTUNE_PROGRAM;
      return run_program("/bin/sh", {"-c", line + command}, program.environment);
    };
    const ProgramResult result = limited("-n 8", tune);
    CHECK(result.exit_code == kEnvironment);
    check_line(result, "cannot start a worker: fcntl: Too many open files (see ulimit -n)");
    for (const char* few : {"-n 4", "-n 5", "-n 6"}) {
      CAPTURE(few);
      const ProgramResult none = limited(few, tune);
      CAPTURE(none.err);
      CHECK(none.exit_code == kEnvironment);
      CHECK(has(none.err, "ulimit -n"));
      CHECK_FALSE(has(none.err, "permissions"));
    }
    // The database has the last descriptor, so that the processor's name cannot be read.
    REQUIRE(program({"--sizes", "32", "--device", "cpu", "--trials", "1"}).exit_code == kSuccess);
    const ProgramResult query = limited("-n 4", " query --sizes 32 --device cpu");
    CAPTURE(query.err);
    CHECK(query.exit_code == kEnvironment);
    CHECK(has(query.err, "ulimit -n"));
  }

  TEST_CASE("threads with small stacks are enough") {
    const Program program;
    const std::string tune =
        " --device cpu --sizes 56 --template gemm_tiled --trials 2 --results-per-thread 1";
    const ProgramResult result = run_program(
        "/bin/sh", {"-c", std::string("ulimit -s 256; exec ") + AUTOTUNE_PROGRAM + tune},
        program.environment);
    CAPTURE(result.err);
    CHECK((result.exit_code == kSuccess || has(result.err, "Sanitizer")));
  }

  // How little is too little for a thread, a compiler or a worker depends on the build.
  TEST_CASE("whatever memory a command may have, it does its work or says that it has too little") {
    const Program program;
    const std::vector<std::string> tune = {"tune", "--sizes",  "32", "--device",
                                           "cpu",  "--trials", "1"};
    REQUIRE(program(tune).exit_code == kSuccess);  // compiles, and stores what the device can do
    const std::string other = program.folder.path() / "other.db";
    std::filesystem::copy_file(program.database, other);
    const std::vector<std::string> commands[] = {
        tune,
        {"tune", "--sizes", "33,34", "--device", "cpu", "--trials", "2", "--fresh"},
        {"query", "--device", "cpu", "--sizes", "32"},
        {"report"},
        {"db", "stats"},
        {"db", "merge", other},
        {"db", "export", "--format", "json"}};
    for (int limit_kib = 8000; limit_kib < 500'000; limit_kib += limit_kib / 6) {
      for (const std::vector<std::string>& command : commands) {
        std::vector<std::string> words = {
            "-c", "ulimit -v " + std::to_string(limit_kib) + "; exec \"$0\" \"$@\"",
            AUTOTUNE_PROGRAM};
        words.insert(words.end(), command.begin(), command.end());
        const ProgramResult result = run_program("/bin/sh", words, program.environment);
        CAPTURE(limit_kib);
        CAPTURE(command.front());
        CAPTURE(result.err);
        // The loader ends a program that has no room for its libraries.
        const bool has_begun = result.exit_code != 127 && result.exit_code != 1000 + SIGSEGV;
        if (has(result.err, "Sanitizer") || !has_begun || result.exit_code == kSuccess) continue;
        CHECK(result.exit_code == kEnvironment);
        check_line(result, "");
        CHECK_FALSE(has(result.err, "bad_alloc"));
      }
    }
    const SQLite::Database database(program.database);
    SQLite::Statement faults(database, "SELECT COUNT(*) FROM trial WHERE status <> 'ok'");
    REQUIRE(faults.executeStep());
    CHECK(faults.getColumn(0).getInt() == 0);
  }
}

}  // namespace
}  // namespace autotune::test
