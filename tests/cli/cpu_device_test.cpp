// The program on the CPU device, end to end, as on a machine without a GPU.
#include <csignal>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/running_program.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

constexpr const char* kAwkward = "1,7x1x3,70x33x51,1x97x5,2x2x1000";

// A small part of the space, so that a search of all of it takes seconds.
std::vector<std::string> small_search(const std::string& sizes) {
  return {"--sizes", sizes,      "--device", "cpu", "--tile-width", "8", "--results-per-thread",
          "2",       "--unroll", "full"};
}

json parsed(const ProgramResult& result) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == kSuccess);
  return json::parse(result.out);
}

// A document with its fields and without their values; of a list the first item.
nlohmann::ordered_json shape(const nlohmann::ordered_json& document) {
  if (document.is_number()) return 0;
  if (document.is_string()) return "";
  if (document.is_boolean()) return false;
  nlohmann::ordered_json result = document;
  if (document.is_array()) {
    result = nlohmann::ordered_json::array();
    if (!document.empty()) result.push_back(shape(document.front()));
  } else {
    for (auto& [name, value] : result.items()) value = shape(value);
  }
  return result;
}

void check_shape(const ProgramResult& result, const std::string& golden_file) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == kSuccess);
  const std::string found = shape(nlohmann::ordered_json::parse(result.out)).dump(2) + "\n";
  CHECK(found == golden(golden_file));
}

TEST_SUITE("program on the CPU device") {
  TEST_CASE("awkward shapes are tuned, stored and answered, and never measured twice") {
    const Program program;
    const json first = parsed(program(with(small_search(kAwkward), {"--json"})));
    CHECK(first["measured"] > 0);
    CHECK(first["results"].size() == 5);
    for (const json& result : first["results"]) {
      CHECK(result["status"] == "ok");
      CHECK(result["integers_exact"] == true);
      CHECK(result["confirmed"] == true);
    }
    CHECK(has(first["device"]["label"], "cpu: "));
    CHECK(first["device"]["architecture"] == "cpu");

    const json second = parsed(program(with(small_search(kAwkward), {"--json"})));
    CHECK(second["measured"] == 0);
    CHECK(second["known"] == first["measured"]);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(second["results"][i]["configuration"] == first["results"][i]["configuration"]);
    }

    const json answer = parsed(program(
        {"query", "--device", first["device"]["label"], "--sizes", kAwkward, "--exact", "--json"}));
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(answer["results"][i]["match"] == "exact");
      CHECK(answer["results"][i]["configuration"] == first["results"][i]["configuration"]);
    }
  }

  TEST_CASE("a batch is tuned and stored apart from the product alone") {
    const Program program;
    const auto command = [](const char* batch) {
      return with(small_search("33x17x19"), {"--json", "--trials", "4", "--batch", batch});
    };
    const json first = parsed(program(command("3")));
    CHECK(first["results"][0]["batch"] == 3);
    CHECK(first["results"][0]["integers_exact"] == true);
    CHECK(parsed(program(command("3")))["measured"] == 0);
    const json alone = parsed(program(command("1")));
    CHECK(alone["measured"] == 4);
    CHECK_FALSE(alone["results"][0].contains("batch"));
    const json found = parsed(
        program({"query", "--device", "cpu", "--sizes", "33x17x19", "--batch", "3", "--json"}));
    CHECK(found["results"][0]["match"] == "exact");
    CHECK(found["results"][0]["batch"] == 3);
    const ProgramResult csv = program({"query", "--device", "cpu", "--csv"});
    CHECK(has(csv.out, "m,n,k,batch,layout"));
    const ProgramResult run = program({"run", "--sizes", "40", "--batch", "5", "--device", "cpu"});
    CHECK(run.exit_code == kSuccess);
    CHECK(has(run.out, "40x40x40 batch 5"));
  }

  TEST_CASE("a large problem is tuned on a part of its blocks and says so") {
    const Program program;
    const std::vector<std::string> tune = {"--sizes",  "1500", "--device", "cpu",
                                           "--trials", "2",    "--seed",   "7"};
    const ProgramResult result = program(tune);
    CHECK(result.exit_code == kSuccess);
    CHECK(has(result.out, "1500x1500x1500: verified and timed on "));
    const json stored = parsed(program(with(tune, {"--json"})));
    CHECK(stored["measured"] == 0);
    CHECK(has(stored["results"][0]["note"], " blocks"));
  }

  TEST_CASE("run verifies products of 16-bit elements, which are rounded once") {
    const Program program;
    const std::pair<std::vector<std::string>, const char*> types[] = {
        {{"--type", "bf16"}, "bf16"},
        {{"--type", "f16"}, "f16"},
        {{"--type", "bf16", "--out-type", "f32"}, "bf16-f32"}};
    for (const auto& [options, name] : types) {
      CAPTURE(name);
      std::vector<std::string> arguments = {"run",     "--device", "cpu",
                                            "--sizes", "70x33x51", "--json"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      const json result = parsed(program(arguments))["results"][0];
      CHECK(result["type"] == name);
      CHECK(result["status"] == "ok");
      CHECK(result["integers_exact"] == true);
      CHECK(result["max_error_ratio"] > 0.5);
    }
  }

  TEST_CASE("run verifies and times a configuration in every layout") {
    const Program program;
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      CAPTURE(layout);
      const json document =
          parsed(program({"run", "--device", "cpu", "--sizes", "70x33x51", "--layout", layout,
                          "--config", "TILE_WIDTH=8,RESULTS_M=2,RESULTS_N=4,UNROLL=8", "--json"}));
      const json& result = document["results"][0];
      CHECK(result["status"] == "ok");
      CHECK(result["layout"] == layout);
      CHECK(result["integers_exact"] == true);
      CHECK(result["configuration"]["RESULTS_N"] == 4);
    }
  }

  TEST_CASE("sweep prints a row a size and a column a combination") {
    const Program program;
    const ProgramResult table =
        program({"sweep", "--device", "cpu", "--sizes", "48,96x32x64", "--tile-width", "8,16",
                 "--results-per-thread", "1,4", "--launches", "1"});
    CAPTURE(table.out);
    CAPTURE(table.err);
    CHECK(table.exit_code == kSuccess);
    CHECK(lines(table.out) == 5);  // two of them before the table
    for (const char* column : {"R1 T8", "R1 T16", "R4 T8", "R4 T16"}) {
      CHECK(has(table.out, column));
    }
    CHECK(has(table.out, "speed-up against R1"));
    CHECK(has(table.out, "("));
  }

  TEST_CASE("sweep takes any template, with the values that it has") {
    const Program program;
    const json simt =
        parsed(program({"sweep", "--device", "cpu", "--sizes", "16", "--template", "gemm_simt",
                        "--results-per-thread", "16,32", "--launches", "1", "--json"}));
    CHECK(simt["results"].size() == 2);
    for (const json& result : simt["results"]) CHECK(result["template"] == "gemm_simt");
    CHECK(simt["interrupted"] == false);
    const ProgramResult text =
        program({"sweep", "--device", "cpu", "--sizes", "16", "--template", "gemm_simt",
                 "--results-per-thread", "16,32", "--launches", "1"});
    CHECK(has(text.out, "R16"));
    CHECK_FALSE(has(text.out, "speed-up"));  // there is no column with one result
  }

  TEST_CASE("run times the template that is named") {
    const Program program;
    const std::vector<std::string> run = {"run", "--device", "cpu", "--sizes", "64", "--json"};
    CHECK(parsed(program(run))["results"][0]["template"] == "gemm_tiled");
    const json simt = parsed(program(with(run, {"--template", "gemm_simt"})));
    CHECK(simt["results"][0]["template"] == "gemm_simt");
    // Also where another template's configuration is known.
    CHECK(program(with(small_search("64"), {"--trials", "1"})).exit_code == kSuccess);
    CHECK(parsed(program(with(run, {"--template", "gemm_simt"})))["results"][0]["template"] ==
          "gemm_simt");
  }

  TEST_CASE("CSV has the same columns for all commands, with fixed units, and Unix's line ends") {
    const Program program;
    const std::string header =
        "m,n,k,layout,math,status,match,tuned_for,device,template,configuration,median_us,low_us,"
        "high_us,gflops,fma_fraction,cublas_us,confirmed,registers,static_shared_bytes,dynamic_"
        "shared_bytes\n";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"--sizes", "9,8x7x6", "--trials", "2"},
          {"run", "--sizes", "9,8x7x6"},
          {"sweep", "--sizes", "9,8x7x6", "--tile-width", "8", "--results-per-thread", "1"},
          {"query", "--sizes", "9,8x7x6"}}) {
      CAPTURE(command.front());
      const ProgramResult result = program(with(command, {"--device", "cpu", "--csv"}));
      CAPTURE(result.err);
      CHECK(result.exit_code == kSuccess);
      CHECK(result.out.rfind(header + "9,9,9,NN,strict,ok,", 0) == 0);
      CHECK(has(result.out, "\n8,7,6,NN,strict,ok,"));
      CHECK(lines(result.out) == 3);
      CHECK_FALSE(has(result.out, "\r"));
    }
  }

  TEST_CASE("the documents of tune, run and sweep have the fields that they are known for") {
    const Program program;
    check_shape(program({"--sizes", "9", "--device", "cpu", "--trials", "1", "--json"}),
                "tune.fields.json");
    check_shape(program({"run", "--sizes", "9", "--device", "cpu", "--json"}), "run.fields.json");
    check_shape(program({"sweep", "--sizes", "9", "--device", "cpu", "--tile-width", "8",
                         "--results-per-thread", "1", "--launches", "1", "--json"}),
                "sweep.fields.json");
    check_shape(program({"devices", "--json"}), "devices.fields.json");
  }

  TEST_CASE("the CPU device is found by both its names and by both spellings of its label") {
    const Program program;
    const json tuned =
        parsed(program({"--sizes", "8", "--device", "host", "--trials", "1", "--json"}));
    const std::string label = tuned["device"]["label"];
    const std::string model = label.substr(label.find(": ") + 2);
    for (const std::string& name :
         {std::string("cpu"), std::string("host"), "cpu: " + model, "host: " + model}) {
      CAPTURE(name);
      CHECK(program({"query", "--device", name, "--sizes", "8"}).exit_code == kSuccess);
      CHECK(has(program({"show", "--device", name, "--sizes", "8"}).out, "tuned for this size"));
      CHECK(program({"db", "export", "--format", "csv", "--device", name}).exit_code == kSuccess);
    }
    // Results of the CPU device do not answer for a GPU.
    CHECK(has(program({"show", "--arch", "sm_90", "--sizes", "8"}).out, "origin          default"));
    for (const char* name : {"cpu", "host"}) {
      CHECK(program({"analyze", "--device", name}).exit_code == kUsage);
    }
    CHECK(has(program({"devices"}).out, "cpu "));
  }

  TEST_CASE("output that cannot be written is a failure") {
    const Program program;
    REQUIRE(program(with(small_search("64"), {"--trials", "1"})).exit_code == kSuccess);
    // The second writes more than a buffer holds.
    for (const auto& [command, reason] :
         {std::pair("devices > /dev/full", "No space left on device"),
          std::pair("query --device H200 --json > /dev/full", "No space left on device"),
          std::pair("run --device cpu --sizes 8 > /dev/full", "No space left on device"),
          std::pair("doctor > /dev/full", "No space left on device"),
          std::pair("manual tune > /dev/full", "No space left on device"),
          std::pair("report > /dev/full", "No space left on device"),
          std::pair("db export --format json > /dev/full", "No space left on device"),
          std::pair("devices >&-", "Bad file descriptor")}) {
      CAPTURE(command);
      const ProgramResult result = run_program(
          "/bin/sh", {"-c", AUTOTUNE_PROGRAM " " + std::string(command)}, program.environment);
      CHECK(result.exit_code == 1);
      CHECK(has(result.err, std::string("standard output could not be written: ") + reason));
    }
    const ProgramResult silent =
        run_program("/bin/sh", {"-c", AUTOTUNE_PROGRAM " devices 2>&-"}, program.environment);
    CHECK(silent.exit_code == kSuccess);
    CHECK(has(silent.out, "cpu: "));
  }

  TEST_CASE("a share that was not reached is said, also where all is known") {
    const Program program;
    const std::vector<std::string> tune = {"--sizes",    "24",         "--device", "cpu",
                                           "--template", "gemm_tiled", "--trials", "3",
                                           "--until",    "99.9%"};
    for (const char* count : {"\n3 measured, 0 known", "\n0 measured, 3 known"}) {
      const ProgramResult result = program(tune);
      CAPTURE(result.err);
      CHECK(result.exit_code == kSuccess);
      CHECK(has(result.out, count));
      CHECK(has(result.out,
                "24x24x24: no estimate of how near this is to the best of this space; "
                "--until 99.9% was not reached (3 of "));
    }
  }

  TEST_CASE("a limit that nothing meets ends with the least error that was reached") {
    const Program program;
    const std::vector<std::string> tune = {"--sizes",     "24",         "--device", "cpu",
                                           "--template",  "gemm_tiled", "--trials", "3",
                                           "--max-error", "1e-12"};
    for (const char* count : {"\n3 measured, 0 known", "\n0 measured, 3 known"}) {
      const ProgramResult result = program(tune);
      CHECK(result.exit_code == 5);
      CHECK(has(result.out, count));
      CHECK(has(result.out,
                "\n24x24x24: no configuration meets the limit of the error: the least "
                "error was "));
    }
    const ProgramResult result = program(with(tune, {"--json"}));
    CHECK(result.exit_code == 5);
    const json entry = json::parse(result.out)["results"][0];
    CHECK(entry["status"] == "none_accurate");
    CHECK(entry["least_error"] > 1e-12);
    CHECK(entry["least_error"] < 1e-6);
  }

  TEST_CASE("the space comes as a table and as JSON") {
    const Program program;
    const std::vector<std::string> arguments = {"--sizes", "8,9", "--device", "cpu", "--dry-run"};
    const json document = parsed(program(with(arguments, {"--json"})));
    CHECK(document["dry_run"] == true);
    const std::int64_t valid = document["spaces"][0]["valid"];
    CHECK(valid > 300);
    CHECK(document["trials"] == 2 * valid);
    CHECK(has(program(arguments).out, std::to_string(2 * valid) + " trials over 2 sizes\n"));
  }

  TEST_CASE("the space that is shown agrees with the run") {
    const Program program;
    const std::vector<std::string> skinny = {"--device", "cpu", "--template", "gemm_skinny"};
    for (const char* option : {"--dry-run", "--json"}) {
      const ProgramResult result = program(with(skinny, {"--sizes", "74", option}));
      CHECK(result.exit_code == kUsage);
      CHECK(has(result.err, "gemm_skinny: it computes none of these problems"));
      for (const auto& [filter, value, reason] :
           {std::tuple("--template", "gemm_tma", "gemm_tma: the CPU device has no unit"),
            std::tuple(
                "--only", "STAGES=2",
                "gemm_tiled: it has no STAGES; name a template that has it (--template): ")}) {
        CHECK(has(program({"--device", "cpu", "--sizes", "64", option, filter, value}).err,
                  std::string("no configuration is left to try: ") + reason));
      }
    }
    const std::string two = program({"--device", "cpu", "--template", "gemm_skinny,gemm_tiled",
                                     "--sizes", "74", "--dry-run"})
                                .out;
    CHECK(two.rfind("gemm_skinny: it computes none of these problems\ngemm_tiled: ", 0) == 0);
    const json one = parsed(program(with(skinny, {"--sizes", "74,9", "--dry-run", "--json"})));
    CHECK(one["spaces"][0]["sizes"] == 1);
    CHECK(one["trials"] == one["spaces"][0]["valid"]);
    const ProgramResult large =
        program({"--device", "cpu", "--sizes", "2000000x2000000x8", "--dry-run"});
    CHECK(large.exit_code == kEnvironment);
    CHECK(has(large.err, "2000000x2000000x8 needs "));
  }

  TEST_CASE("doctor says what is here, and what to do about what is missing") {
    Program program;
    const json here = parsed(program({"doctor", "--json"}));
    CHECK(here["tuning"] == "cpu");
    CHECK(here["gpus"].empty());
    const json& driver = here["checks"].back();
    CHECK(driver["name"] == "driver");
    CHECK(driver["ok"] == false);
    CHECK(has(driver["advice"], "install its driver"));
    program.environment.emplace_back("CXX", "/bin/false");
    const ProgramResult without = program({"doctor"});
    CHECK(without.exit_code == kEnvironment);
    CHECK(has(without.out, "/bin/false does not compile"));
    CHECK(has(without.out, "-> CXX must name a C++ compiler that works"));
  }

  TEST_CASE("a killed run is continued, and nothing that was stored is measured again") {
    const Program program;
    const std::vector<std::string> tune = with(small_search("40,41,42"), {"--json"});
    RunningProgram killed(program, tune);
    killed.wait_for_trials(3);
    killed.finish_with(SIGKILL);
    const std::int64_t stored = trials_in(program.database);
    REQUIRE(stored >= 3);

    const json document = parsed(program(tune));
    CHECK(document["known"] == stored);
    CHECK(document["measured"] > 0);
    CHECK(trials_in(program.database) - stored == document["measured"]);
    CHECK(document["results"].size() == 3);
  }
}

}  // namespace
}  // namespace autotune::test
