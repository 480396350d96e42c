#include "schema_1_content.hpp"

#include <sstream>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/compression.hpp"
#include "core/json.hpp"

namespace autotune::test {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The device's name of today.
std::string renamed(std::string text) {
  for (const auto& [former, current] : {std::pair{"host/", "cpu/"}, {"host: ", "cpu: "}}) {
    if (text.starts_with(former)) text.replace(0, std::string(former).size(), current);
  }
  return text;
}

// A winner's body with the parameter names of today.
std::string with_current_parameters(std::string body) {
  for (const auto& [former, current] : {std::pair{"THREAD_M", "RESULTS_M"},
                                        {"THREAD_N", "RESULTS_N"},
                                        {"SLICES", "SLICE_K"},
                                        {"BY_LINE", "SHARED_K_MAJOR"},
                                        {"EXCHANGE", "STAGE_EPILOGUE"},
                                        {"KEEP", "L2_PERSIST"}}) {
    const std::string name = '"' + std::string(former) + '"';
    for (std::size_t at = 0; (at = body.find(name, at)) != std::string::npos;) {
      body.replace(at + 1, name.size() - 2, current);
    }
  }
  return body;
}

std::string problem_text(const Problem& problem) {
  CHECK(problem.operation() == "gemm");
  CHECK(problem.trait("type") == "f32");
  std::ostringstream text;
  text << problem.size("m") << '#' << problem.size("n") << '#' << problem.size("k") << '#'
       << problem.trait("layout") << '#' << problem.trait("math") << '#';
  return text.str();
}

// A winner's body without the fields that are columns too.
std::string body_text(json body) {
  for (const char* key : {"problem", "silicon_class", "device_label", "template"}) body.erase(key);
  return body.dump() + "#";
}

std::string completed_text(const std::string& key, const CompletedRequest& request) {
  std::ostringstream text;
  text << key << '#' << request.reason << '#' << request.budget_s << '#' << request.trials << '#';
  return text.str();
}

// "host/X|64x32x80 NT strict|gemm_tma/3|..." as today's key.
std::string current_key(const std::string& key) {
  std::istringstream parts(key);
  std::string device;
  std::string words;
  std::string rest;
  std::getline(parts, device, '|');
  std::getline(parts, words, '|');
  std::getline(parts, rest, '\0');
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  char x = 0;
  std::string layout;
  std::string math;
  std::istringstream in(words);
  in >> m >> x >> n >> x >> k >> layout >> math;
  const Problem problem = math.empty() ? gemm(m, n, k) : gemm(m, n, k, layout);
  return renamed(device) + "|" + problem.key() + "|" + rest;
}

std::vector<std::string> keys_of(const fs::path& path) {
  std::vector<std::string> keys = rows_of(path, "SELECT key FROM completed");
  for (std::string& key : keys) key.pop_back();
  return keys;
}

}  // namespace

fs::path file_of_schema_1(const TemporaryFolder& folder, const std::string& name) {
  const std::string packed = bytes_of(fs::path(AUTOTUNE_SOURCE_DIR) / "tests/data/schema-1.db.zst");
  write_bytes(folder / name, decompressed(packed, 1 << 24).value());
  return folder / name;
}

std::vector<std::string> rows_of(const fs::path& path, const std::string& query) {
  SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  SQLite::Statement select(database, query);
  std::vector<std::string> rows;
  while (select.executeStep()) {
    std::string row;
    for (int i = 0; i < select.getColumnCount(); ++i) row += select.getColumn(i).getString() + "#";
    rows.push_back(row);
  }
  return rows;
}

Content content_of_schema_1(const fs::path& path) {
  Content content;
  for (const std::string& row :
       rows_of(path,
               "SELECT s.silicon_class, s.template, s.interface, s.source_hash, s.driver,"
               " s.nvrtc_build, s.protocol, r.guid, r.device_uuid, r.command, r.started_at,"
               " r.tool_version, m, n, k, layout, math, configuration, status, detail,"
               " measurement, verification, resources FROM trial t JOIN scope s ON s.id = t.scope"
               " JOIN run r ON r.id = t.run")) {
    content.trials.insert(renamed(row));
  }
  SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  SQLite::Statement winner(database, "SELECT * FROM winner");
  while (winner.executeStep()) {
    const auto text = [&](const char* name) { return winner.getColumn(name).getString() + "#"; };
    content.winners.insert(
        renamed(text("silicon_class")) + renamed(text("device_label")) + text("template") +
        text("m") + text("n") + text("k") + text("layout") + text("math") +
        body_text(json::parse(with_current_parameters(winner.getColumn("body").getString()))));
  }
  SQLite::Statement run(database, "SELECT * FROM run");
  while (run.executeStep()) {
    content.runs.insert(renamed(run.getColumn("silicon_class").getString()) + "#" +
                        renamed(run.getColumn("device_label").getString()) + "#" +
                        run.getColumn("guid").getString() + run.getColumn("command").getString());
  }
  SQLite::Statement request(database, "SELECT key, reason, budget_s, trials FROM completed");
  while (request.executeStep()) {
    content.completed.insert(
        completed_text(current_key(request.getColumn(0).getString()),
                       {"", request.getColumn(1).getString(), request.getColumn(2).getDouble(),
                        request.getColumn(3).getInt64()}));
  }
  SQLite::Statement rates(database, "SELECT * FROM rates");
  while (rates.executeStep()) {
    const DeviceRates found = {rates.getColumn("fma_gflops").getDouble(),
                               rates.getColumn("copy_gbps").getDouble()};
    content.rates.insert(renamed(rates.getColumn("silicon_class").getString()) +
                         json(found).dump());
  }
  return content;
}

Content content_of(const TuningDatabase& database, const fs::path& schema_1) {
  Content content;
  std::set<std::pair<std::string, std::string>> devices;
  for (const auto& [scope, run, trial, row, run_row] : database.all_trials({})) {
    std::ostringstream text;
    text << scope.device_class << '#' << scope.template_name << '#' << scope.space_version << '#'
         << scope.source_hash << '#' << scope.environment.driver << '#'
         << scope.environment.nvrtc_build << '#' << scope.environment.measuring_protocol << '#'
         << run.guid << '#' << run.device_uuid << '#' << run.command << '#' << run.started_at << '#'
         << scope.environment.tool_version << '#' << problem_text(trial.problem)
         << to_string(trial.configuration) << '#' << to_string(trial.status) << '#' << trial.detail
         << '#' << json(trial.measurement) << '#' << json(trial.verification) << '#'
         << json(trial.resources) << '#';
    content.trials.insert(text.str());
    content.runs.insert(scope.device_class + "#" + run.device_label + "#" + run.guid + run.command);
    if (devices.emplace(scope.device_class, scope.environment.nvrtc_build).second) {
      const auto rates = database.rates(scope.device_class, scope.environment);
      if (rates) content.rates.insert(scope.device_class + json(*rates).dump());
    }
  }
  // Each run once.
  std::set<std::string> runs(content.runs.begin(), content.runs.end());
  content.runs = {runs.begin(), runs.end()};
  for (const Winner& winner : database.winners({})) {
    content.winners.insert(winner.device_class + "#" + winner.device_label + "#" +
                           winner.template_name + "#" + problem_text(winner.problem) +
                           body_text(winner));
  }
  for (const std::string& former : keys_of(schema_1)) {
    const std::string key = current_key(former);
    if (const auto request = database.completed(key)) {
      content.completed.insert(completed_text(key, *request));
    }
  }
  return content;
}

}  // namespace autotune::test
