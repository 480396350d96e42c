#include "cpu/compiler.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/hash.hpp"
#include "core/posix/file_descriptor.hpp"
#include "core/posix/host_resources.hpp"
#include "core/posix/ownership.hpp"
#include "core/posix/run_program.hpp"
#include "core/posix/temporary_folder.hpp"
#include "cpu/frame_limit.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_cpu_prelude();
std::span<const EmbeddedFile> embedded_cpu_host_words();

namespace {

namespace fs = std::filesystem;

// Version 0.1 has the prefix "autotune-compile-" and does not lock its folders. Its runs and those
// of this version leave each other's folders alone.
constexpr std::string_view kFolderPrefix = "autotune-kernel-";

fs::path compilers_folder() {
  std::error_code error;
  fs::path folder = temporary_folder(error);
  if (error) {
    throw EnvironmentError("there is no folder for temporary files: set TMPDIR to one");
  }
  // Who can replace the folder of a compiler decides which code runs.
  if (const fs::path shared = folder_of_others(folder); !shared.empty()) {
    throw EnvironmentError(fmt::format(
        "no kernel is compiled in {}, because other users can change the folder {}: set TMPDIR to "
        "another, or make it sticky",
        folder.string(), shared.string()));
  }
  return folder;
}

FileDescriptor open_folder(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  return FileDescriptor(::open(path.c_str(), kFlags));
}

bool is_own(const FileDescriptor& folder) {
  struct stat found {};
  return ::fstat(folder.get(), &found) == 0 && found.st_uid == ::geteuid();
}

// Removes the folders of this user's compilers that were killed. No process has them locked, in any
// container.
void remove_abandoned_folders() {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(compilers_folder(), ignored)) {
    if (!entry.path().filename().string().starts_with(kFolderPrefix)) continue;
    const FileDescriptor folder = open_folder(entry.path());
    if (is_own(folder) && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

// A folder that only this user can access. It is locked, and is removed with this object.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code ignored;
    do {
      std::string name = (compilers_folder() / fmt::format("{}XXXXXX", kFolderPrefix)).string();
      if (mkdtemp(name.data()) == nullptr) {
        throw EnvironmentError(
            fmt::format("no folder for compiling can be made in {}: set TMPDIR to another",
                        compilers_folder().string()));
      }
      path_ = name;
      lock_ = open_folder(path_);
      ::flock(lock_.get(), LOCK_EX);  // waits for a process that took it for an abandoned folder
    } while (!fs::exists(path_, ignored));
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  FileDescriptor lock_;
};

std::optional<std::string> find_program(const std::string& name) {
  const auto usable = [](const std::string& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return usable(name) ? std::optional(name) : std::nullopt;
  const char* const folders = ::secure_getenv("PATH");
  std::istringstream list(folders != nullptr ? folders : "/usr/bin:/bin");
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (usable(path)) return path;
  }
  return std::nullopt;
}

// The compiler's path and the arguments that follow it in $CXX.
std::vector<std::string> find_compiler() {
  if (const char* const wish = ::secure_getenv("CXX"); wish != nullptr && *wish != '\0') {
    std::istringstream words(wish);
    std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    if (command.empty()) command.emplace_back(wish);
    if (const auto path = find_program(command.front())) {
      command.front() = *path;
      return command;
    }
    throw EnvironmentError(fmt::format(
        "the C++ compiler named in CXX was not found: {}. Name another, or unset CXX", wish));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (const auto path = find_program(name)) return {*path};
  }
  throw EnvironmentError(
      "the system's C++ compiler, which the CPU device needs and references of the host do, was "
      "not "
      "found (c++, g++, clang++): install g++, or name one in CXX");
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__)
  const char* const wish = ::secure_getenv("AUTOTUNE_CPU_SANITIZE");
  return wish != nullptr && std::string_view(wish) == "1";
#else
  return false;  // the kernel would lack the sanitizer's library
#endif
}

std::vector<std::string> fixed_options(bool is_clang) {
  std::vector<std::string> options = {
      "-std=c++17", "-O2", "-fPIC", "-shared", "-x", "c++",
      // Results must not depend on the compiler's contraction: templates call fma themselves.
      "-ffp-contract=off",
      // No symbol of one kernel may be taken for another kernel's, and a copy must be unloadable.
      "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
      "-Wno-unknown-pragmas"};
  if (is_clang) {
    options.push_back(fmt::format("-Wframe-larger-than={}", kMaxFrameBytes));
    options.emplace_back("-Werror=frame-larger-than");
  } else {
    options.push_back(fmt::format("-Werror=frame-larger-than={}", kMaxFrameBytes));
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) options.emplace_back("-mfma");
#endif
  if (sanitized()) {
    options.insert(options.end(), {"-g1", "-fsanitize=address,undefined",
                                   "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"});
  }
  return options;
}

std::string prelude() {
  std::string text;
  for (const EmbeddedFile& file : embedded_cpu_prelude()) text += file.text;
  return text;
}

// The same for functions of the host, which share some of its files.
std::string host_prelude() {
  std::string text;
  for (const EmbeddedFile& file : embedded_cpu_host_words()) text += file.text;
  for (const EmbeddedFile& file : embedded_cpu_prelude()) {
    if (file.name == "cuda_vectors.hpp" || file.name == "kernel_call.hpp") text += file.text;
  }
  return text;
}

// The definition of a macro that an option of the compiler makes: "-DNAME=VALUE". It stands behind
// the prelude, whose words a macro must not change.
std::string definition(std::string_view option) {
  option.remove_prefix(std::string_view("-D").size());
  const std::size_t end = option.find('=');
  if (end == std::string_view::npos) return fmt::format("#define {} 1\n", option);
  return fmt::format("#define {} {}\n", option.substr(0, end), option.substr(end + 1));
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) {
    throw EnvironmentError(
        fmt::format("{} could not be written: {}", path.string(), std::strerror(errno)));
  }
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw EnvironmentError(fmt::format("{} could not be read", path.string()));
  return bytes;
}

// Returns whether this process may have less memory than a compile worker is to have. A compiler
// without memory may end in any way.
bool lacks_memory() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 &&
         limit.rlim_cur < static_cast<rlim_t>(kCompileMemoryBytes);
}

// Returns whether something other than the kernel stopped the compiler: a signal to it or to one of
// its programs, a full disk, a folder that was removed.
bool is_fault_of_machine(const ProgramResult& result, const fs::path& input) {
  std::error_code ignored;
  if (!fs::exists(input, ignored)) return true;
  const auto says = [&](const char* text) { return result.output.find(text) != std::string::npos; };
  if (lacks_memory() && (says("memory") || says(::strsignal(SIGSEGV)))) return true;
  constexpr int kSignals[] = {SIGKILL, SIGTERM, SIGHUP, SIGINT};
  constexpr int kErrors[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EMFILE, ENFILE, EAGAIN};
  return std::any_of(std::begin(kSignals), std::end(kSignals),
                     [&](int signal) {
                       return result.exit_code == 128 + signal || says(::strsignal(signal));
                     }) ||
         std::any_of(std::begin(kErrors), std::end(kErrors),
                     [&](int error) { return says(std::strerror(error)); });
}

}  // namespace

CpuCompiler::CpuCompiler() : command_(find_compiler()) {
  remove_abandoned_folders();
  const std::string version = run_program({path(), "--version"}).output;
  FieldHasher ours;
  ours.add(prelude());
  const std::vector<std::string> options =
      fixed_options(version.find("clang") != std::string::npos);
  command_.insert(command_.end(), options.begin(), options.end());
  for (const std::string& word : command_) ours.add(word);
  build_ = fmt::format("{}, cpu {:.8}", version.substr(0, version.find('\n')), ours.digest());
}

CpuCompileResult CpuCompiler::compile(const std::vector<std::string>& kernels,
                                      const std::string& source,
                                      const std::vector<std::string>& options, CpuCode code) const {
  const PrivateFolder folder;
  const fs::path words = folder.path() / "prelude.hpp";
  const fs::path input = folder.path() / "kernel.cu";
  const fs::path output = folder.path() / "kernel.so";
  write_file(words, code == CpuCode::host ? host_prelude() : prelude());
  std::string text;
  for (const std::string& option : options) {
    if (option.starts_with("-D")) text += definition(option);
  }
  text += fmt::format("#line 1 \"{}.cu\"\n{}\n", kernels.front(), source);
  for (const std::string& kernel : kernels) {
    text += fmt::format(
        "extern \"C\" __global__ void {1}{0}(void** autotune_values) {{\n"
        "  autotune_call_kernel(&{0}, autotune_values);\n}}\n",
        kernel, kCallPrefix);
  }
  write_file(input, text);

  std::vector<std::string> command = command_;
  command.insert(command.end(),
                 {"-include", words.string(), input.string(), "-o", output.string()});
  if (code == CpuCode::traced) {
    // Without optimization a vector is one access, and the code has the order of the source.
    command.insert(command.end(), {"-O0", "-fsanitize=thread", "-fsanitize-coverage=trace-pc",
                                   "-nodefaultlibs", "-lm", "-DAUTOTUNE_TRACED"});
  } else if (code == CpuCode::host) {
    command.emplace_back("-Wno-frame-larger-than");  // it has the stack of a thread
  }
  ProgramResult result = run_program(command, {"TMPDIR=" + folder.path().string()});
  std::error_code ignored;
  // A compiler that fails leaves no output.
  const int exit_code = result.exit_code.value_or(fs::exists(output, ignored) ? 0 : 1);
  if (exit_code != 0) {
    if (result.output.empty()) {
      result.output = fmt::format("error: {} ended with exit code {}\n", path(), exit_code);
    }
    if (is_fault_of_machine(result, input)) {
      throw EnvironmentError(fmt::format("{} was stopped: {}", path(),
                                         result.output.substr(0, result.output.find('\n'))));
    }
    return {false, "", std::move(result.output)};
  }
  return {true, read_file(output), result.output};
}

}  // namespace autotune
