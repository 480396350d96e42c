// The files that commands write: what they replace, and what the name says of the form.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "autotune/problem.hpp"

#include "core/compression.hpp"
#include "core/posix/file_descriptor.hpp"
#include "tests/cli/running_program.hpp"
#include "tuner/replay/gzip.hpp"

namespace autotune::test {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

std::string file_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A database with one trial, and files around it.
struct OutputWriter {
  Program program;
  fs::path folder = program.folder.path();

  OutputWriter() {
    Trial trial;
    trial.problem = GemmProblem{.m = 64, .n = 64, .k = 64};
    trial.template_name = "gemm_tiled";
    trial.configuration = Configuration({{"TILE_WIDTH", 8}});
    trial.measurement.median_us = 10;
    TuningDatabase::open(program.database)
        .add_trials({.device_class = "sm_90/132sm/test",
                     .template_name = "gemm_tiled",
                     .space_version = 1,
                     .source_hash = "abc",
                     .environment = {"580.1", "13.0.88", "0.1.0", 1}},
                    {"run", "Test GPU", "GPU-1", "autotune", "2026-01-02T03:04:05Z"}, {&trial, 1});
  }

  // Every command that writes a file, to this one; those with --force have it.
  [[nodiscard]] std::vector<Arguments> commands(const std::string& path) const {
    return {{"report", "--format", "html", "--output", path},
            {"report", "--format", "md", "--output", path},
            {"db", "export", "--format", "csv", "--output", path},
            {"db", "export", "--format", "t4", "--output", path},
            {"export", "--bundle", path, "--arch", "sm_90", "--sizes", "64", "--no-portfolio",
             "--force"}};
  }
  [[nodiscard]] ProgramResult exported(const Arguments& more) const {
    return program(with({"db", "export"}, more));
  }
};

const std::string kKernelStem = "gemm_64x64x64_f32_nn_strict";

Arguments to_sources(const std::string& folder, const std::string& sizes = "64") {
  return {"export",  "--source",   "--sizes",    sizes,      "--arch", "sm_90",
          "--force", "--template", "gemm_tiled", "--output", folder};
}

TEST_SUITE("output files") {
  TEST_CASE("no command replaces a database, whatever its path is called, with --force neither") {
    const OutputWriter write;
    const std::string database = write.program.database;
    const std::string before = file_bytes(database);
    const std::string sources = write.folder / "sources";
    fs::create_directory(sources);
    std::vector<std::string> names = {database, write.folder / "link", write.folder / "twice",
                                      write.folder / "hard"};
    fs::create_symlink(database, names[1]);
    fs::create_symlink("link", names[2]);
    fs::create_hard_link(database, names[3]);
    fs::create_hard_link(database, sources + "/" + kKernelStem + ".cu");
    const FileDescriptor opened(::open(database.c_str(), O_RDWR));
    names.push_back("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(opened.get()));
    const auto check_refused = [&](const Arguments& command) {
      const ProgramResult result = write.program(command);
      CAPTURE(command.front());
      CHECK(result.exit_code == kUsage);
      CHECK(has(result.err, " is a database: name another file\n"));
      CHECK(lines(result.err) == 1);
      CHECK(file_bytes(database) == before);
    };
    for (const std::string& name : names) {
      CAPTURE(name);
      for (const Arguments& command : write.commands(name)) check_refused(command);
    }
    check_refused(to_sources(sources));
    CHECK(fs::is_symlink(names[1]));
    CHECK(std::distance(fs::directory_iterator(sources), fs::directory_iterator()) == 1);
    // What standard output is appended to.
    CHECK(run_program("/bin/sh",
                      {"-c", "exec \"$0\" report --output /dev/stdout >> \"$1\"", AUTOTUNE_PROGRAM,
                       database},
                      write.program.environment)
              .exit_code == kUsage);
    CHECK(file_bytes(database) == before);
  }

  TEST_CASE("the file with the sizes is not replaced, with --force neither") {
    const OutputWriter write;
    fs::create_directory(write.folder / "sources");
    const std::string sizes = write.folder / "sources" / (kKernelStem + ".h");
    std::ofstream(sizes) << "64\n";
    const Arguments bundle = {"export", "--bundle", sizes,       "--arch",
                              "sm_90",  "--sizes",  "@" + sizes, "--force"};
    for (const Arguments& command : {bundle, to_sources(write.folder / "sources", "@" + sizes)}) {
      const ProgramResult result = write.program(command);
      CHECK(result.exit_code == kUsage);
      CHECK(has(result.err, sizes + " is what the command reads: name another file\n"));
      CHECK(file_bytes(sizes) == "64\n");
    }
  }

  TEST_CASE("a file is replaced if it is empty or a command's own, others are not") {
    const OutputWriter write;
    const std::string path = write.folder / "out";
    auto commands = write.commands(path);
    commands.pop_back();
    for (const Arguments& command : commands) {
      CAPTURE(command[1] + command[2] + command[3]);
      std::ofstream{path};  // empty
      CHECK(write.program(command).exit_code == kSuccess);
      const std::string written = file_bytes(path);
      CHECK(written.size() > 100);
      std::ofstream(path, std::ios::app) << "more";
      CHECK(write.program(command).exit_code == kSuccess);
      CHECK(file_bytes(path) == written);
      for (const char* other : {"<!DOCTYPE html>\n<html lang=\"en\">\n", "# Notes\n", "{\"a\": 1}",
                                "device,date\n", "SQL", "x"}) {
        std::ofstream(path) << other;
        const ProgramResult result = write.program(command);
        CHECK(result.exit_code == kUsage);
        CHECK(has(result.err, "--output: " + path +
                                  " is there, and autotune has not written it: "
                                  "name another file, or remove it\n"));
        CHECK(file_bytes(path) == other);
      }
      fs::remove(path);
    }
    // One format of a command replaces another one.
    for (const char* format : {"csv", "json", "t4", "csv"}) {
      CHECK(write.exported({"--format", format, "--output", path}).exit_code == kSuccess);
    }
    // Compressed, the first words count too.
    for (const char* ending : {".csv.gz", ".csv.zst"}) {
      const std::string packed = path + ending;
      for (int time = 0; time < 2; ++time) {
        CHECK(write.exported({"--output", packed}).exit_code == kSuccess);
      }
      const std::string other = "other,columns\n1,2\n";
      std::ofstream(packed) << (has(ending, "gz") ? zipped(other) : compressed(other, 3));
      CHECK(write.exported({"--output", packed}).exit_code == kUsage);
    }
  }

  TEST_CASE("a manual page or a completion that somebody else wrote stays, and all others too") {
    const OutputWriter write;
    const fs::path share = write.folder / "share";
    REQUIRE(write.program({"manual", "--output", share}).exit_code == kSuccess);
    CHECK(write.program({"manual", "--output", share}).exit_code == kSuccess);
    const fs::path last = share / "fish" / "vendor_completions.d" / "autotune.fish";
    const fs::path first = share / "man" / "man1" / "autotune.1";
    std::ofstream(last) << "mine";
    std::ofstream(first) << ".TH AUTOTUNE of before";
    CHECK(write.program({"manual", "--output", share}).exit_code == kUsage);
    CHECK(file_bytes(last) == "mine");
    CHECK(file_bytes(first) == ".TH AUTOTUNE of before");
  }

  TEST_CASE("standard output, devices and pipes can be named where no set of files is written") {
    const OutputWriter write;
    const std::string page = write.program({"db", "export", "--format", "csv"}).out;
    for (const char* name : {"-", "/dev/stdout", "/proc/self/fd/1"}) {
      CHECK(write.exported({"--format", "csv", "--output", name}).out == page);
    }
    CHECK(write.exported({"--format", "csv", "--output", "/dev/null"}).exit_code == kSuccess);
    // What standard output has got before stays.
    const ProgramResult result = run_program("/bin/sh",
                                             {"-c",
                                              "{ echo before; \"$0\" db export --format csv "
                                              "--output /dev/stdout; echo after; } > \"$1\" "
                                              "2>/dev/null; cat \"$1\"",
                                              AUTOTUNE_PROGRAM, write.folder / "all"},
                                             write.program.environment);
    CHECK(result.out == "before\n" + page + "after\n");

    const std::string pipe = write.folder / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    RunningProgram running(write.program, {"db", "export", "--format", "csv", "--output", pipe});
    CHECK(file_bytes(pipe) == page);
    CHECK(running.finish_with().exit_code == kSuccess);
  }

  TEST_CASE("- is the name of no set of files, and of no bundle") {
    const OutputWriter write;
    const Arguments bundle = {"export", "--bundle", "-", "--arch", "sm_90", "--sizes", "64"};
    for (const Arguments& command : {bundle, to_sources("-"), {"manual", "--output", "-"}}) {
      const ProgramResult result = write.program(command);
      CHECK(result.exit_code == kUsage);
      CHECK_MESSAGE(has(result.err, ": '-' must be the name of a f"), result.err);
    }
  }

  TEST_CASE("a pipe in the place of an exported file is refused at once") {
    const OutputWriter write;
    const std::string sources = write.folder / "sources";
    fs::create_directory(sources);
    const std::string pipe = sources + "/" + kKernelStem + ".cu";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const Arguments bundle = {"export", "--bundle", pipe, "--arch", "sm_90", "--sizes", "64"};
    for (const Arguments& command : {bundle, to_sources(sources)}) {
      const ProgramResult result = write.program(command);
      CHECK(result.exit_code == kUsage);
      CHECK(has(result.err, pipe + " is not a regular file: name a file\n"));
    }
    CHECK(std::distance(fs::directory_iterator(sources), fs::directory_iterator()) == 1);
  }

  TEST_CASE("a file that cannot get its name is told, with those that have theirs") {
    OutputWriter write;
    const std::string sources = write.folder / "sources";
    REQUIRE(write.program(to_sources(sources)).exit_code == kSuccess);
    write.program.environment.emplace_back("LD_PRELOAD", AUTOTUNE_ODD_SYSTEM);
    write.program.environment.emplace_back("ODD_SYSTEM", "names");
    const ProgramResult result = write.program(to_sources(sources));
    CHECK(result.exit_code == kUsage);
    const std::string stem = sources + "/" + kKernelStem;
    CHECK(has(result.err, stem +
                              "_kernel.cuh: cannot be written: Operation not permitted; "
                              "written before it: " +
                              stem + ".h, " + stem + ".cu\n"));
    CHECK(std::distance(fs::directory_iterator(sources), fs::directory_iterator()) == 4);
  }

  TEST_CASE("the ending of a name decides the form and the compression") {
    const OutputWriter write;
    const auto written = [&](const std::string& name, const Arguments& more = {}) {
      const fs::path path = write.folder / name;
      CAPTURE(name);
      CHECK(write.exported(with({"--output", path}, more)).exit_code == kSuccess);
      return file_bytes(path);
    };
    const auto printed = [&](const char* format) {
      return write.exported({"--format", format}).out;
    };
    constexpr std::uint64_t kMost = 1 << 20;
    CHECK(written("a.csv") == printed("csv"));
    CHECK(written("a.json") == printed("json"));
    CHECK(written("a.JSON", {"--format", "t4"}) == printed("t4"));
    CHECK(written("a.t4.json") == printed("t4"));
    CHECK(written("mktemp.x1Y2", {"--format", "csv"}) == printed("csv"));
    CHECK(unzipped(written("a.csv.gz"), kMost) == printed("csv"));
    CHECK(decompressed(written("a.t4.json.zst"), kMost) == printed("t4"));
    CHECK(unzipped(written("plain.gz", {"--format", "json"}), kMost) == printed("json"));
    for (const char* name : {"a.json.gz", "a.t4.json.gz", "a.json.zst"}) {
      written(name);
      const ProgramResult result =
          write.program({"replay", write.folder / name, "--trials", "1", "--repeats", "1"});
      CHECK(result.exit_code == kSuccess);
    }
    const auto report = [&](const Arguments& more) {
      return write.program(with({"report"}, more));
    };
    const std::string markdown = write.folder / "r.md";
    const std::string page = write.folder / "r.html";
    CHECK(report({"--output", markdown}).exit_code == kSuccess);
    CHECK(file_bytes(markdown).rfind("# autotune report\n", 0) == 0);
    CHECK(report({"--output", page}).exit_code == kSuccess);
    CHECK(file_bytes(page).rfind("<!DOCTYPE html>\n", 0) == 0);
  }

  TEST_CASE("an ending that contradicts --format, or is not known, is refused by name") {
    const OutputWriter write;
    const std::string in = "must end in .csv, .t4.json, .json, plain or with .gz or .zst";
    const std::pair<Arguments, std::string> cases[] = {
        {{"db", "export", "--format", "csv", "--output", "a.json"}, "csv contradicts the name 'a."},
        {{"db", "export", "--format", "json", "--output", "a.t4.json.gz"}, "json contradicts"},
        {{"db", "export", "--format", "t4", "--output", "a.csv.zst"}, "t4 contradicts"},
        {{"db", "export", "--format", "csv", "--output", "a.csv.xz"}, "'a.csv.xz' " + in},
        {{"db", "export", "--output", "a.csv.bz2"}, in},
        {{"db", "export", "--output", "a.txt"}, in},
        {{"db", "export", "--output", "a"}, "--format is missing"},
        {{"db", "export", "--output", "a.gz"}, "--format is missing"},
        {{"db", "export"}, "--format is missing"},
        {{"report", "--format", "html", "--output", "r.md"}, "html contradicts"},
        {{"report", "--output", "r.pdf"}, "'r.pdf' must end in .html, .htm, .md, e.g."},
        {{"report", "--output", "r.html.gz"}, "must end in .html, .htm, .md, e.g."},
    };
    for (const auto& [command, says] : cases) {
      const ProgramResult result = write.program(command);
      CAPTURE(result.err);
      CHECK(result.exit_code == kUsage);
      CHECK(has(result.err, says));
      CHECK(lines(result.err) == 1);
      CHECK_FALSE(fs::exists(command.back()));
    }
  }
}

}  // namespace
}  // namespace autotune::test
