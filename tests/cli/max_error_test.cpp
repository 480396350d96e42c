// The limit of the error, of which kernels of every arithmetic have to keep to.
#include <map>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/fake_machine.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

// The trials of each template that has some.
std::map<std::string, std::int64_t> trials_of(const ProgramResult& dry_run) {
  CAPTURE(dry_run.err);
  REQUIRE(dry_run.exit_code == kSuccess);
  std::map<std::string, std::int64_t> result;
  const json document = json::parse(dry_run.out);
  for (const json& space : document["spaces"]) {
    if (space["trials"] > 0) result[space["template"]] = space["trials"];
  }
  return result;
}

TEST_SUITE("limit of the error") {
  TEST_CASE("without --math every template competes, in each arithmetic of its own") {
    const FakeMachine machine;
    const std::vector<std::string> dry_run = {"--sizes",   "4096",   "--max-error", "1e-6",
                                              "--dry-run", "--json", "--progress",  "none"};
    auto all = trials_of(machine.run("", dry_run));
    auto strict = trials_of(machine.run("", with(dry_run, {"--math", "strict"})));
    auto emulated = trials_of(machine.run("", with(dry_run, {"--math", "emulated"})));
    auto tf32 = trials_of(machine.run("", with(dry_run, {"--math", "tf32"})));
    CHECK(emulated["gemm_fp16x3"] > 0);
    CHECK(tf32["gemm_fp16x1"] > 0);
    for (const auto& [name, trials] : all) {
      CAPTURE(name);
      CHECK(trials == (strict.contains(name) ? strict[name] : emulated[name] + tf32[name]));
    }
    for (const auto* some : {&strict, &emulated, &tf32}) {
      for (const auto& [name, trials] : *some) CHECK(all.contains(name));
    }
    const ProgramResult text = machine.run(
        "", {"--sizes", "4096", "--max-error", "1e-6", "--dry-run", "--template", "gemm_tf32"});
    CHECK(has(text.out, " configurations are left, for 1 size in 2 searches of one math each\n"));
  }

  TEST_CASE("the answer is stored, shown and found with its arithmetic") {
    if (!can_compile()) return;
    const FakeMachine machine;
    const std::vector<std::string> tune = {"--sizes",  "512", "--template",  "gemm_fp16x3",
                                           "--trials", "2",   "--max-error", "1e-6",
                                           "--jobs",   "1",   "--no-shipped"};
    const ProgramResult first = machine.run("", tune);
    CAPTURE(first.err);
    CHECK(first.exit_code == kSuccess);
    CHECK(has(first.out, "\n512x512x512 emulated "));
    const ProgramResult found = machine.run(
        "", {"query", "--sizes", "512", "--max-error", "1e-6", "--no-shipped", "--json"});
    REQUIRE(found.exit_code == kSuccess);
    const json entry = json::parse(found.out)["results"][0];
    CHECK(entry["math"] == "emulated");
    CHECK(entry["template"] == "gemm_fp16x3");
    const ProgramResult top =
        machine.run("", {"query", "--sizes", "512", "--max-error", "1e-6", "--top", "1", "--json"});
    REQUIRE(top.exit_code == kSuccess);
    CHECK(json::parse(top.out)["results"][0]["math"] == "emulated");
    CHECK(has(machine.run("", with(tune, {"--math", "strict"})).err,
              "gemm_fp16x3 does not compute 512x512x512 with --math strict"));
  }
}

}  // namespace
}  // namespace autotune::test
