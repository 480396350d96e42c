// What `autotune report` says is what the database holds, whatever texts that has, in the document
// within the page and in the page as a browser shows it.
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "db/tuning_database.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {
namespace {

using nlohmann::json;

constexpr const char* kHostile =
    "</script><script>window.hacked=true</script><b>\"'&|`*_@all https://a.b www.c.d";
constexpr int kTrialsOfSize = 60;
constexpr double kLeastUs = 100;

Problem square(std::int64_t size) {
  return Problem("gemm", {{"m", size}, {"n", size}, {"k", size}},
                 {{"type", "f32"}, {"layout", "NN"}, {"math", "strict"}});
}

TrialScope scope() {
  return {"sm_90 made up", "gemm_tiled", 1, "0123", {kHostile, "13.0.88", "0.1.0", 1}};
}

// The time depends on FACTOR alone; the trial's number makes its configuration.
Trial trial(int number, std::int64_t size) {
  Trial made{.problem = square(size), .template_name = "gemm_tiled"};
  made.configuration = Configuration({{"NUMBER", number % 50}, {"FACTOR", 1 + number % 3}});
  made.measurement.median_us = kLeastUs * static_cast<double>(1 + number % 3);
  if (number % 10 == 9) {
    made.status = TrialStatus::wrong_result;
    made.detail = kHostile;
  }
  return made;
}

std::vector<Trial> trials(int count, std::int64_t size) {
  std::vector<Trial> made;
  for (int number = 0; number < count; ++number) made.push_back(trial(number, size));
  return made;
}

// Two sizes: 512 with a winner that cuBLAS was timed beside, 1024 with trials alone.
struct StoredReport {
  Program program;
  std::string page = program.folder.path() / "report.html";

  explicit StoredReport(int count = kTrialsOfSize) {
    TuningDatabase database = TuningDatabase::open(program.database);
    const RunInfo run = {"guid", std::string("NVIDIA ") + kHostile, "GPU-1", kHostile,
                         "2026-01-02T03:04:05Z"};
    database.add_trials(scope(), run, trials(count, 512));
    database.add_trials(scope(), run, trials(count, 1024));
    database.put_rates(scope().device_class, scope().environment, {20'000, 100});
    Winner winner;
    winner.device_class = scope().device_class;
    winner.device_label = run.device_label;
    winner.problem = square(512);
    winner.template_name = "gemm_tiled";
    winner.configuration = Configuration({{"NUMBER", 0}, {"FACTOR", 1}});
    winner.median_us = 98;
    winner.low_us = 97;
    winner.high_us = 99;
    winner.confirmed = true;
    winner.baseline = BaselineTime{.library = "cublas", .median_us = 147, .speedup = 1.5};
    database.put_winners({&winner, 1});
  }

  [[nodiscard]] ProgramResult report(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"report", "--output", page});
    return program(more);
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    return text.str();
  }
  [[nodiscard]] json document(const std::string& name = "data") const {
    const std::string whole = text();
    const std::string begin = "id=\"" + name + "\">";
    const std::size_t at = whole.find(begin) + begin.size();
    return json::parse(whole.substr(at, whole.find("</script>", at) - at));
  }
};

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

double rate(std::int64_t size, double us) {
  return 2e-3 * std::pow(static_cast<double>(size), 3) / us;
}

TEST_SUITE("report") {
  TEST_CASE("the page's document has the database's figures") {
    const StoredReport stored;
    const ProgramResult written = stored.report();
    REQUIRE(written.exit_code == kSuccess);
    CHECK(written.err.rfind("autotune: wrote a report of " + std::to_string(2 * kTrialsOfSize) +
                                " trials to " + stored.page,
                            0) == 0);
    const json document = stored.document();
    CHECK(document["trials"] == 2 * kTrialsOfSize);
    CHECK(document["database"] ==
          std::filesystem::path(stored.program.database).filename().string());
    REQUIRE(document["sizes"].size() == 2);
    const json& first = document["sizes"][0];
    CHECK(first["text"] == "512x512x512");
    CHECK(first["best"]["median_us"] == 98);
    CHECK(first["best"]["confirmed"] == true);
    CHECK(first["best"]["gflops"].get<double>() == doctest::Approx(rate(512, 98)));
    CHECK(first["cublas_us"] == 147);
    // 512 / 6 operations a byte at 100 GB/s.
    CHECK(first["limit_gflops"].get<double>() == doctest::Approx(512.0 / 6 * 100));
    const json& second = document["sizes"][1];
    CHECK(second["best"]["median_us"] == kLeastUs);
    CHECK(second["best"]["confirmed"] == false);
    CHECK(second["best"]["configuration"] == "NUMBER=0,FACTOR=1");
    CHECK(second["cublas_us"].is_null());
    CHECK(second["trials"] == kTrialsOfSize);
    CHECK(second["correct"] == kTrialsOfSize * 9 / 10);
    CHECK(second["convergence"].size() == 1);  // the first trial is as fast as any
    CHECK(document["failures"][0]["status"] == "wrong_result");
    CHECK(document["failures"][0]["count"] == 2 * kTrialsOfSize / 10);
    CHECK(document["failures"][0]["example"] == kHostile);
    CHECK(document["devices"][0]["driver"] == kHostile);
    CHECK(document["runs"][0]["trials"] == 2 * kTrialsOfSize);
  }

  TEST_CASE("a parameter that decides the time has all of the importance") {
    const StoredReport stored;
    REQUIRE(stored.report().exit_code == kSuccess);
    const json effects = stored.document()["templates"][0];
    CHECK(effects["trials"] == 2 * kTrialsOfSize);
    const json& factor = effects["parameters"][0];
    CHECK(factor["name"] == "FACTOR");
    CHECK(factor["importance"].get<double>() == doctest::Approx(1));
    REQUIRE(factor["values"].size() == 3);
    for (int value = 1; value <= 3; ++value) {
      const json& effect = factor["values"][static_cast<std::size_t>(value - 1)];
      CHECK(effect["value"] == value);
      CHECK(effect["trials"] == 2 * kTrialsOfSize / 3);
      CHECK(effect["correct"] == 2 * kTrialsOfSize * 9 / 30);
      CHECK(effect["best"].get<double>() == doctest::Approx(1.0 / value));
      CHECK(effect["median"].get<double>() == doctest::Approx(1.0 / value));
    }
    CHECK(effects["parameters"][1]["importance"].get<double>() < 0.9);
  }

  TEST_CASE("no text of the database is markup, and the page asks for nothing") {
    const StoredReport stored;
    REQUIRE(stored.report().exit_code == kSuccess);
    const std::string page = stored.text();
    CHECK(count_of(page, "</script>") == 4);
    CHECK(count_of(page, "window.hacked") > 0);
    CHECK_FALSE(has(page, "<script>window.hacked"));
    for (const char* const part : {" src=", "<link", "@import", "href=\"http", "fetch("}) {
      CHECK_FALSE(has(page, part));
    }
    CHECK(has(page, "default-src 'none'"));
    CHECK(has(page, "Permission is hereby granted, free of charge"));
  }

  TEST_CASE("the table has the fastest 2,000 trials of each size and 2,000 of the others") {
    const StoredReport stored(5000);
    REQUIRE(stored.report().exit_code == kSuccess);
    const json rows = stored.document("rows")["rows"][0];
    CHECK(rows.size() == 4000);
    int fast = 0;
    int failed = 0;
    for (const json& row : rows) {
      fast += row[3] == kLeastUs ? 1 : 0;
      failed += row[2] != 0 ? 1 : 0;
    }
    CHECK(fast == 1500);  // all that there are
    CHECK(failed > 200);  // of 500
    CHECK(failed < 400);
  }

  TEST_CASE("Markdown has the figures, and no markup of the database") {
    StoredReport stored;
    stored.page = stored.program.folder.path() / "report.md";
    REQUIRE(stored.report().exit_code == kSuccess);
    const std::string text = stored.text();
    CHECK(has(text, "120 trials of 2 sizes in 1 run, by"));
    CHECK(has(text, "| 98.00 | 97.00 to 99.00 | 147.00 | 150.0 % |"));
    CHECK(has(text, "| wrong\\_result | gemm\\_tiled | 12 |"));
    CHECK_FALSE(has(text, "<script>"));
    CHECK(has(text, "\\<script\\>"));
    CHECK(has(text, "@<!-- -->all https\\://a.b www\\.c.d"));
  }

  TEST_CASE("what is not stored is not reported") {
    const StoredReport stored;
    CHECK(stored.report({"--template", "gemm_tma"}).exit_code == kNothingStored);
    CHECK(stored.report({"--device", "no such GPU"}).exit_code == kNothingStored);
    CHECK_FALSE(std::filesystem::exists(stored.page));
  }
}

std::string browser() {
  for (const char* const name : {"chromium-headless-shell", "chromium", "chromium-browser"}) {
    for (const char* const folder : {"/usr/bin/", "/usr/local/bin/"}) {
      if (std::filesystem::exists(std::string(folder) + name)) return std::string(folder) + name;
    }
  }
  return "";
}

// Text of encodeURIComponent().
std::string decoded(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// What report_check.js saw in the page.
json seen_in_browser(const StoredReport& stored) {
  std::string page = stored.text();
  const std::string head = "<head>";
  page.insert(page.find(head) + head.size(),
              "<script>window.errors = [];"
              "addEventListener('error', event => errors.push(event.message));"
              "addEventListener('securitypolicyviolation', event => errors.push(event.blockedURI));"
              "</script>");
  std::ostringstream check;
  check << std::ifstream(AUTOTUNE_SOURCE_DIR "/tests/cli/report_check.js").rdbuf();
  page.insert(page.rfind("</body>"), "<script>" + check.str() + "</script>");
  std::ofstream(stored.page) << page;
  const ProgramResult result =
      run_program(browser(),
                  {"--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000",
                   "--user-data-dir=" + (stored.program.folder.path() / "browser").string(),
                   "--dump-dom", "file://" + stored.page},
                  stored.program.environment);
  const std::string begin = "<pre id=\"seen\">";
  const std::size_t at = result.out.find(begin);
  REQUIRE_MESSAGE(at != std::string::npos, result.err);
  const std::size_t from = at + begin.size();
  return json::parse(decoded(result.out.substr(from, result.out.find('<', from) - from)));
}

TEST_SUITE("report in a browser") {
  TEST_CASE("a reader sees the database's figures, sorts and filters them") {
    if (browser().empty()) {
      MESSAGE("SKIPPED: no Chromium (scripts/setup --browser)");
      return;
    }
    const StoredReport stored;
    REQUIRE(stored.report().exit_code == kSuccess);
    const json seen = seen_in_browser(stored);
    CHECK(seen["errors"] == json::array());
    CHECK(seen["hacked"] == false);
    REQUIRE(seen["plots"].size() == 6);
    for (const json& plot : seen["plots"]) {
      CAPTURE(plot.dump());
      CHECK(plot[1] == true);
      CHECK(plot[2] == "img");
      CHECK(plot[3] == true);
    }
    REQUIRE(seen["rates"].size() == 2);
    CHECK(seen["rates"][0][2] == "98");
    CHECK(seen["rates"][0][5] == "147");
    CHECK(seen["rates"][0][7] == "150.0 %");
    CHECK(seen["rates"][1][9] == "unconfirmed");
    REQUIRE(seen["bars"].size() == 3);
    CHECK(seen["bars"][0][1][0].get<double>() == doctest::Approx(1e-3 * rate(512, 98)));
    CHECK(seen["bars"][1][1][0].get<double>() == doctest::Approx(1e-3 * rate(512, 147)));
    CHECK(seen["bars"][1][1][1].is_null());
    CHECK(seen["failures"][0][2] == "12");
    CHECK(seen["failures"][0][3] == kHostile);
    CHECK(seen["devices"][0][0] == std::string("NVIDIA ") + kHostile);
    CHECK(seen["leftOut"] == "The table has all 120 trials.");
    REQUIRE(seen["fastest"].size() == 50);
    CHECK(seen["fastest"][0][3] == "100");
    CHECK(seen["matches"] == "Rows 1 to 50 of 120 that match.");
    CHECK(seen["slowest"][0][3] == "300");
    CHECK(seen["order"] == "descending");
    CHECK(has(seen["focus"], "time us"));
    REQUIRE(seen["seven"].size() == 4);  // numbers 7 and 57 at both sizes
    CHECK(has(seen["seven"][0][6], "NUMBER=7,"));
    CHECK(seen["filtered"][0] == "Rows 1 to 12 of 12 that match.");
    CHECK(seen["filtered"][1][0] == "wrong_result");
    CHECK(seen["curve"][1]["x"] == kTrialsOfSize);
  }
}

}  // namespace
}  // namespace autotune::test
