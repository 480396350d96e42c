// Feeds damaged input to all that reads files, messages and words from outside.
//
// usage: autotune_fuzz INPUTS [SEED] [TARGET...]
//
// The targets are database (a tuning database is read, written and merged), command_line, recorded
// (results for replay), message (of workers), kernel (compiled kernels and compiler logs), bundle
// and words (problems, sizes, winners). They share the INPUTS: of 100, the first two get 2 each.
// Each input is an entry of the target's corpus with some random edits; SEED and its number give
// the same input again. Ends with 1, or in a crash, at the first fault, and names the input.
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "autotune/error.hpp"

#include "cli/gemm_options.hpp"
#include "cli/program.hpp"
#include "core/compression.hpp"
#include "core/cubin.hpp"
#include "core/json.hpp"
#include "db/cubin_packing.hpp"
#include "tests/db/db_fixture.hpp"
#include "tests/fuzz/bundle_target.hpp"
#include "tests/fuzz/damaged_input.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/replay/recorded_space.hpp"
#include "tuner/worker/protocol.hpp"

// Of the sanitizers, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void* descriptor);

namespace autotune::test {
namespace {

namespace fs = std::filesystem;

std::string current;               // the input that is at work, as a command
int own_messages = STDERR_FILENO;  // where the fuzzer and the sanitizers write

void name_input() {
  const std::string line = "\nautotune_fuzz: the fault is in: " + current + "\n";
  if (::write(own_messages, line.data(), line.size()) < 0) ::_exit(1);
}

Corpus files_in(const fs::path& folder) {
  Corpus corpus;
  for (const auto& entry : fs::directory_iterator(folder)) corpus.push_back(bytes_of(entry));
  std::sort(corpus.begin(), corpus.end());
  return corpus;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::uint64_t number) : random_(seed * 1'000'003 + number) {}

  std::string mutated(const Corpus& corpus) {
    std::string text = corpus[below(corpus.size())];
    for (std::size_t edits = 1 + below(6); edits > 0; --edits) edit(text, corpus);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  std::string part_of(const std::string& text) {
    const std::size_t at = below(text.size());
    return text.substr(at, 1 + below(std::min<std::size_t>(text.size() - at, 64)));
  }

  void edit(std::string& text, const Corpus& corpus) {
    static const std::array<std::string, 12> kWords = {
        "-1",   "0",  "1e999", "9223372036854775808", "-9223372036854775808", "2147483648",
        "null", "\"", "{",     std::string(1, '\0'),  "\xff\xff\xff\xff",     "\033["};
    const std::size_t at = below(text.size());
    switch (below(7)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random_());
        break;
      case 2:
        text.erase(at, 1 + below(16));
        break;
      case 3:
        text.insert(at, part_of(corpus[below(corpus.size())]));
        break;
      case 4:
        text.insert(at, kWords[below(kWords.size())]);
        break;
      case 5: {  // a number becomes another one
        const std::size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789.eE+-", begin);
        text.replace(begin, end - begin, kWords[below(6)]);
        break;
      }
      default:
        if (below(8) == 0) text.resize(at);
    }
  }

  std::mt19937_64 random_;
};

// A database with one winner that every file has a slower one of.
class DatabaseTarget {
 public:
  DatabaseTarget() {
    const fs::path path = folder_ / "corpus.db";
    {
      auto database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run(), some_trials(0, 4));
      database.put_winners(std::vector{some_winner(1024, 100), some_winner(2048, 800)});
      database.put_rates("class", some_scope().environment, {60000, 4000});
      database.put_completed({{"key", "exhausted", 30, 12}});
    }
    execute(path, "PRAGMA page_size = 512; VACUUM");
    own_.put_winners(std::vector{some_winner(1024, 99)});
    corpus = {
        bytes_of(path),
        decompressed(bytes_of(AUTOTUNE_SOURCE_DIR "/tests/data/schema-1.db.zst"), 1 << 24).value()};
  }

  void operator()(const std::string& input) {
    const fs::path path = folder_ / "input.db";
    write_bytes(path, input);
    fs::remove(path.string() + "-journal");
    attempt([&] {
      const auto database = TuningDatabase::open_read_only(path);
      if (!database) return;
      static_cast<void>(database->all_trials({}));
      database->visit_problems({}, [](const Problem&) {});
      for (const Winner& best : database->best_trials({})) require(best.median_us > 0, "a time");
      for (const Winner& winner : database->winners({})) {
        require(winner.median_us > 0, "a winner's time");
      }
    });
    attempt([&] { own_.merge(path); });
    const ResultFilter filter = {.device_class = some_scope().device_class};
    const std::vector<Winner> winners = own_.winners(filter);
    require(!winners.empty() && winners[0].median_us == 99, "the winner was lost");
    attempt([&] {
      TuningDatabase::open(path).put_winners(std::vector{some_winner(1024, 98)});
      require(TuningDatabase::open(path).winners({}).size() > 0, "nothing was stored");
    });
  }

  Corpus corpus;

 private:
  static void attempt(const std::function<void()>& work) {
    try {
      work();
    } catch (const StorageError& error) {
      require(std::string(error.what()).find('\n') == std::string::npos, error.what());
    }
  }

  TemporaryFolder folder_;
  TuningDatabase own_ = TuningDatabase::in_memory();
};

struct RecordedTarget {
  TemporaryFolder folder;
  Corpus corpus = files_in(AUTOTUNE_SOURCE_DIR "/tests/fuzz/recorded");

  RecordedTarget() {
    for (const char* name : {"kernel_tuner.t4.json", "kernel_tuner_cache.json"}) {
      corpus.push_back(bytes_of(fs::path(AUTOTUNE_SOURCE_DIR "/tests/data") / name));
    }
  }

  void operator()(const std::string& input) const {
    write_bytes(folder / "recorded.json", input);
    try {
      for (const RecordedSpace& space :
           read_recorded_spaces(folder / "recorded.json", built_in_kernels())) {
        require(space.correct > 0 && space.best_us > 0, "a space without a best time");
        static_cast<void>(prior_for(space));
      }
    } catch (const UsageError&) {
      // told, which is right too
    }
  }
};

// Runs commands that need no device, each in a line of its own: one argument a line.
struct CommandLineTarget {
  TemporaryFolder folder;
  Corpus corpus = files_in(AUTOTUNE_SOURCE_DIR "/tests/fuzz/command_line");

  CommandLineTarget() {
    fs::current_path(folder.path());
    ::setenv("AUTOTUNE_DB", (folder / "own.db").c_str(), 1);
    ::setenv("AUTOTUNE_LIBCUDA", (folder / "none").c_str(), 1);
    TuningDatabase::open(folder / "own.db").put_winners(std::vector{some_winner(1024, 99)});
  }

  void operator()(const std::string& input) const {
    std::vector<std::string> arguments = {"autotune"};
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line, '\n');) {
      std::replace(line.begin(), line.end(), '/', '_');  // nothing outside of this folder
      arguments.push_back(line.substr(0, line.find('\0')));
    }
    static const std::set<std::string> kQuick = {"query", "db", "replay"};
    if (arguments.size() < 2) return;
    if (!kQuick.contains(arguments[1])) {
      arguments[1] = "tune";
      arguments.emplace_back("--dry-run");
    }
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const int code = run_program(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    require(code == 0 || (code >= 2 && code <= 6), fmt::format("exit code {}", code));
  }
};

struct MessageTarget {
  Corpus corpus;

  MessageTarget() {
    MeasureRequest measure = test::request_for({.m = 64, .n = 64, .k = 64});
    measure.data.reference.source.resize(64);
    measure.kernel_name = "k";
    measure.cubin = "cubin";
    for (const WorkerRequest& request : std::initializer_list<WorkerRequest>{
             CompileRequest{"k", "source", {"-DX=1", "-arch=sm_90"}}, measure, CalibrateRequest{},
             DescribeCompilerRequest{}}) {
      corpus.push_back(encode(request));
    }
    MeasureReply measured{.detail = "detail"};
    measured.measurement = some_trial(1).measurement;
    measured.verification = some_trial(1).verification;
    for (const WorkerReply& reply : std::initializer_list<WorkerReply>{
             measured, CompileReply{true, "cubin", "log", some_trial(1).resources, ""},
             CalibrateReply{60000, 4000, ""},
             DescribeCompilerReply{"13.0.88", "/lib/libnvrtc.so", {"sm_90"}, ""}}) {
      corpus.push_back(encode(reply));
    }
  }

  void operator()(const std::string& input) const {
    read([&] { static_cast<void>(encode(decode_request(input))); });
    read([&] {
      const WorkerReply reply = decode_reply(input);
      if (const auto* measured = std::get_if<MeasureReply>(&reply)) {
        for (const double us : measured->measurement.samples_us) {
          require(std::isfinite(us) && us >= 0, "a sample");
        }
      }
    });
  }
};

struct KernelTarget {
  Corpus corpus = files_in(AUTOTUNE_SOURCE_DIR "/tests/fuzz/kernel");

  KernelTarget() { corpus.push_back(pack({corpus.front(), "log", some_trial(1).resources})); }

  void operator()(const std::string& input) const {
    static_cast<void>(read_cubin(input));
    static_cast<void>(machine_code_hash(input));
    static_cast<void>(read_ptxas_log(input, "k"));
    read([&] { static_cast<void>(unpack(input)); });
  }
};

struct WordsTarget {
  Corpus corpus = {square(64).key(), "1024,512x256x2048,1x1x1", some_scope().device_class,
                   nlohmann::json(some_winner(1024, 100)).dump(),
                   nlohmann::json(some_trial(1).measurement).dump()};

  void operator()(const std::string& input) const {
    read([&] {
      const Problem problem = Problem::parse(input);
      require(Problem::parse(problem.key()) == problem, "a problem's key");
    });
    read([&] {
      for (const Problem& size : parse_sizes(input)) require(size.size("m") > 0, "a size");
    });
    read([&] { static_cast<void>(parse_device_class(input)); });
    read([&] { static_cast<void>(nlohmann::json::parse(input).get<Winner>()); });
    read([&] { static_cast<void>(nlohmann::json::parse(input).get<Measurement>()); });
  }
};

template <typename Target>
void fuzz(const char* name, std::uint64_t inputs, std::uint64_t seed) {
  Target target;
  require(!target.corpus.empty(), "there is no corpus");
  for (std::uint64_t number = 0; number < inputs; ++number) {
    current = fmt::format("{} of seed {} and number {}", name, seed, number);
    const std::string input = Mutator(seed, number).mutated(target.corpus);
    try {
      target(input);
    } catch (const std::exception& error) {
      write_bytes(fs::temp_directory_path() / "autotune-fuzz-input", input);
      current += std::string(": ") + error.what();
      name_input();
      ::_exit(1);
    }
  }
}

// Keeps what commands print off the terminal. Own messages go to the standard error of before.
void silence_commands() {
  own_messages = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
  if (__sanitizer_set_report_fd != nullptr) {
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(own_messages)));
  }
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

int fuzz_all(const std::vector<std::string>& words) {
  const std::uint64_t inputs = std::stoull(words.at(0));
  const std::uint64_t seed = words.size() > 1 ? std::stoull(words[1]) : 1;
  const std::set<std::string> chosen(words.begin() + (words.size() > 1 ? 2 : 1), words.end());
  struct {
    const char* name;
    std::uint64_t share;  // of 100
    void (*run)(const char*, std::uint64_t, std::uint64_t);
  } const targets[] = {
      {"database", 2, fuzz<DatabaseTarget>},  {"command_line", 2, fuzz<CommandLineTarget>},
      {"recorded", 16, fuzz<RecordedTarget>}, {"message", 30, fuzz<MessageTarget>},
      {"kernel", 20, fuzz<KernelTarget>},     {"bundle", 10, fuzz<BundleFileTarget>},
      {"words", 20, fuzz<WordsTarget>}};
  silence_commands();
  std::uint64_t all = 0;
  for (const auto& target : targets) {
    if (chosen.empty() || chosen.contains(target.name)) all += target.share;
  }
  for (const auto& [name, share, run] : targets) {
    if (!chosen.empty() && !chosen.contains(name)) continue;
    const std::uint64_t count = inputs * share / all;
    run(name, count, seed);
    ::dprintf(own_messages, "autotune_fuzz: %s: %ju inputs\n", name,
              static_cast<std::uintmax_t>(count));
  }
  return 0;
}

}  // namespace
}  // namespace autotune::test

int main(int argc, char** argv) {
  using autotune::test::name_input;
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(name_input);
  std::set_terminate([] {
    name_input();
    std::abort();
  });
  for (const int signal : {SIGSEGV, SIGFPE, SIGBUS}) {
    if (__sanitizer_set_death_callback == nullptr) {
      std::signal(signal, [](int) {
        name_input();
        ::_exit(1);
      });
    }
  }
  return autotune::test::fuzz_all({argv + 1, argv + argc});
}
