// Help, manual pages and completions, which are all made of the commands' options.
#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

const std::vector<std::string> kCommands = {
    "tune",    "query",  "show",   "run", "bench",  "sweep",  "analyze", "templates",
    "devices", "doctor", "report", "db",  "replay", "export", "manual",  "completion"};

struct HelpProgram : Program {
  explicit HelpProgram(int columns = 80) {
    environment.emplace_back("COLUMNS", std::to_string(columns));
  }
};

std::size_t longest_line(const std::string& text) {
  std::istringstream stream(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(stream, line);) longest = std::max(longest, line.size());
  return longest;
}

// The words that bash offers where the cursor is behind the last of these.
std::string offered(const Program& program, const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string script = "source <(" AUTOTUNE_PROGRAM " completion bash); COMP_WORDS=(" + line +
                             "); COMP_CWORD=" + std::to_string(words.size() - 1) +
                             "; _autotune; echo \"${COMPREPLY[*]}\"";
  return run_program("/bin/bash", {"-c", script}, program.environment).out;
}

// Has the shell read the completions that are written for it.
void check_that_it_reads(const std::string& shell) {
  if (!std::filesystem::exists("/usr/bin/" + shell)) {
    MESSAGE("SKIPPED: no " << shell);
    return;
  }
  const Program program;
  const std::string script = AUTOTUNE_PROGRAM " completion " + shell + " > s && " + shell + " -n s";
  const ProgramResult result =
      run_program("/bin/sh", {"-c", "cd \"$TMPDIR\" && " + script}, program.environment);
  CHECK(result.exit_code == kSuccess);
  CHECK(result.err == "");
}

TEST_SUITE("help") {
  TEST_CASE("every command's help fits the width") {
    for (const int columns : {60, 80}) {
      const HelpProgram program(columns);
      for (const std::string& command : kCommands) {
        CAPTURE(command);
        const ProgramResult help = program({command, "--help"});
        CHECK(help.exit_code == kSuccess);
        CHECK(has(help.out, "usage: autotune " + command));
        CHECK(longest_line(help.out) <= static_cast<std::size_t>(columns));
      }
    }
    CHECK(longest_line(HelpProgram(100)({"--help"}).out) <= 100);
    CHECK(longest_line(HelpProgram(100)({"--help"}).out) > 80);
  }

  TEST_CASE("examples are broken where the shell joins them, not in quotes") {
    CHECK(has(HelpProgram(60)({"show", "--help"}).out,
              "  autotune show --sizes 2048 --device \"NVIDIA H200\"\n"
              "  autotune show --sizes 2048 --arch sm_90 \\\n"
              "      --template gemm_simt --source\n"));
    CHECK(has(HelpProgram(50)({"show", "--help"}).out,
              "  autotune show --sizes 2048 \\\n      --device \"NVIDIA H200\"\n"));
  }

  TEST_CASE("arguments without a name are in the usage") {
    const HelpProgram program;
    CHECK(has(program({"manual", "--help"}).out, "usage: autotune manual [COMMAND] [OPTION]..."));
    CHECK(has(program({"completion", "--help"}).out, "usage: autotune completion SHELL [OPTION]"));
    CHECK(has(program({"db", "merge", "--help"}).out, "usage: autotune db merge FILE... [OPTION]"));
  }

  TEST_CASE("options have a group, a value and their default") {
    const std::string help = HelpProgram()({"tune", "--help"}).out;
    CHECK(has(help, "usage: autotune tune --sizes LIST [OPTION]..."));
    CHECK(has(help, "\nProblem:\n  --sizes LIST "));
    CHECK(has(help, "\nSearch:\n"));
    CHECK(has(help.substr(0, help.find("\nDevice:\n")), "\n  --max-error ERROR"));
    CHECK(has(help, "\n  --budget TIME "));
    CHECK(has(help, "\nStored results:\n  --db FILE "));
    CHECK(has(help, "default NN"));
    CHECK(has(help, "\nExamples:\n  autotune --sizes 1024,2048,3200\n"));
  }

  TEST_CASE("the program's help has commands, exit codes and environment variables") {
    const std::string help = HelpProgram()({"--help"}).out;
    for (const std::string& command : kCommands) CHECK(has(help, "\n  " + command + " "));
    CHECK(has(help, "\n  130"));
    CHECK(has(help, "\n  AUTOTUNE_DB "));
    CHECK(has(help, "--version"));
  }

  TEST_CASE("commands of db have their own help") {
    const std::string help = HelpProgram()({"db", "top", "--help"}).out;
    CHECK(has(help, "usage: autotune db top [OPTION]..."));
    CHECK(has(help, "--count N"));
  }
}

TEST_SUITE("manual pages") {
  TEST_CASE("man understands them, and they have every option") {
    const Program program;
    for (const std::string& command : kCommands) {
      CAPTURE(command);
      const ProgramResult page = program({"manual", command});
      CHECK(page.exit_code == kSuccess);
      CHECK(page.out.rfind(".TH AUTOTUNE", 0) == 0);
      CHECK(has(page.out, "\n.B \\-\\-help\n"));
      CHECK(has(page.out, "\n.SH EXIT STATUS\n"));
    }
    CHECK(has(program({"manual", "tune"}).out, "\n.B \\-\\-sizes LIST\n"));
    CHECK(has(program({"manual", "db"}).out, "\n.SH AUTOTUNE DB TOP\n"));
  }

  TEST_CASE("all pages and completions are written into a folder") {
    const Program program;
    const auto share = program.folder.path() / "share";
    REQUIRE(program({"manual", "--output", share}).exit_code == kSuccess);
    for (const std::string& command : kCommands) {
      CHECK(std::filesystem::exists(share / "man/man1" / ("autotune-" + command + ".1")));
    }
    for (const char* const file :
         {"man/man1/autotune.1", "bash-completion/completions/autotune",
          "zsh/site-functions/_autotune", "fish/vendor_completions.d/autotune.fish"}) {
      CAPTURE(file);
      CHECK(std::filesystem::file_size(share / file) > 1000);
    }
  }
}

TEST_SUITE("completion") {
  TEST_CASE("bash offers commands, options and values") {
    const Program program;
    CHECK(offered(program, {"autotune", "que"}) == "query\n");
    CHECK(offered(program, {"autotune", "--si"}) == "--sizes --size\n");
    CHECK(offered(program, {"autotune", "db", "to"}) == "top\n");
    CHECK(offered(program, {"autotune", "db", "top", "--cou"}) == "--count\n");
    CHECK(offered(program, {"autotune", "query", "--layout", ""}) == "NN NT TN TT\n");
    CHECK(offered(program, {"autotune", "tune", "--template", "gemm_ti"}) == "gemm_tiled\n");
    CHECK(offered(program, {"autotune", "--sizes", "64", "--fre"}) == "--fresh\n");
    CHECK(offered(program, {"autotune", "query", "--fre"}) == "\n");
    CHECK(offered(program, {"autotune", "query", "--device", ""}) == "auto cpu H100 H200\n");
    CHECK(offered(program, {"autotune", "tune", "--device", ""}) == "auto cpu\n");
  }

  TEST_CASE("zsh can read its own") {
    check_that_it_reads("zsh");
  }

  TEST_CASE("fish can read its own") {
    check_that_it_reads("fish");
  }
}

}  // namespace
}  // namespace autotune::test
