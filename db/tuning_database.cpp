#include "db/tuning_database.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <SQLiteCpp/VariadicBind.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"
#include "core/json.hpp"
#include "db/connection.hpp"
#include "db/row_hash.hpp"

namespace autotune {

using nlohmann::json;

std::span<const EmbeddedFile> embedded_migrations();

namespace {

namespace fs = std::filesystem;

FileKind tuning_file() {
  constexpr std::int32_t kApplicationId = 0x41544e31;  // "ATN1"
  return {"tuning database", kApplicationId, embedded_migrations()};
}

// A row that does not read back as what was written is no row.
template <typename Read>
auto unless_damaged(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

GemmProblem problem_from(const SQLite::Statement& row) {
  GemmProblem problem;
  problem.m = row.getColumn("m").getInt64();
  problem.n = row.getColumn("n").getInt64();
  problem.k = row.getColumn("k").getInt64();
  set_layout(problem, row.getColumn("layout").getString());
  problem.math = math_from_string(row.getColumn("math").getString());
  return problem;
}

void bind_problem(SQLite::Statement& statement, const GemmProblem& problem) {
  statement.bind(":m", problem.m);
  statement.bind(":n", problem.n);
  statement.bind(":k", problem.k);
  statement.bind(":layout", layout_text(problem));
  statement.bind(":math", to_string(problem.math));
}

void bind_scope(SQLite::Statement& statement, const TrialScope& scope) {
  statement.bind(":silicon_class", scope.silicon_class);
  statement.bind(":template", scope.template_name);
  statement.bind(":interface", scope.interface_number);
  statement.bind(":source_hash", scope.source_hash);
  statement.bind(":driver", scope.environment.driver);
  statement.bind(":nvrtc_build", scope.environment.nvrtc_build);
  statement.bind(":protocol", scope.environment.measuring_protocol);
}

TrialScope scope_from(const SQLite::Statement& row) {
  return {row.getColumn("silicon_class").getString(),
          row.getColumn("template").getString(),
          row.getColumn("interface").getInt(),
          row.getColumn("source_hash").getString(),
          {row.getColumn("driver").getString(), row.getColumn("nvrtc_build").getString(),
           row.getColumn("tool_version").getString(), row.getColumn("protocol").getInt()}};
}

// Text that came from elsewhere (a compiler's log, a signal's name) may not be UTF-8, which JSON and
// STRICT tables want.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = ' ';
  }
  return text;
}

TrialColumns columns_of(const Trial& trial) {
  return {trial.problem,
          to_string(trial.configuration),
          to_string(trial.status),
          printable(trial.detail),
          trial.ok() ? trial.measurement.median_us : 0,
          json(trial.measurement).dump(),
          json(trial.verification).dump(),
          json(trial.resources).dump()};
}

std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope) {
  return unless_damaged([&]() -> std::optional<Trial> {
    const TrialColumns columns = {problem_from(row),
                                  row.getColumn("configuration").getString(),
                                  row.getColumn("status").getString(),
                                  row.getColumn("detail").getString(),
                                  row.getColumn("median_us").getDouble(),
                                  row.getColumn("measurement").getString(),
                                  row.getColumn("verification").getString(),
                                  row.getColumn("resources").getString()};
    if (row_hash(scope, columns) != row.getColumn("row_hash").getString()) return std::nullopt;
    return Trial{.problem = columns.problem,
                 .template_name = scope.template_name,
                 .configuration = Configuration::parse(columns.configuration),
                 .status = trial_status_from_string(columns.status),
                 .detail = columns.detail,
                 .measurement = json::parse(columns.measurement).get<Measurement>(),
                 .verification = json::parse(columns.verification).get<Verification>(),
                 .resources = json::parse(columns.resources).get<Resources>()};
  });
}

std::string winner_hash(const Winner& winner, const std::string& body) {
  return FieldHasher()
      .add(winner.silicon_class)
      .add(winner.template_name)
      .add(to_string(winner.problem))
      .add(to_string(winner.problem.math))
      .add(winner.device_label)
      .add(body)
      .digest();
}

std::optional<Winner> winner_from(const SQLite::Statement& row) {
  return unless_damaged([&]() -> std::optional<Winner> {
    const std::string body = row.getColumn("body").getString();
    Winner winner = json::parse(body).get<Winner>();
    // The columns that it was found by must be the ones that it says it is.
    winner.silicon_class = row.getColumn("silicon_class").getString();
    winner.template_name = row.getColumn("template").getString();
    winner.problem = problem_from(row);
    winner.device_label = row.getColumn("device_label").getString();
    if (winner_hash(winner, body) != row.getColumn("row_hash").getString()) return std::nullopt;
    return winner;
  });
}

Winner unconfirmed(const Trial& trial, const TrialScope& scope, std::string label,
                   std::string started_at) {
  Winner winner;
  winner.silicon_class = scope.silicon_class;
  winner.device_label = std::move(label);
  winner.problem = trial.problem;
  winner.template_name = scope.template_name;
  winner.interface_number = scope.interface_number;
  winner.source_hash = scope.source_hash;
  winner.environment = scope.environment;
  winner.configuration = trial.configuration;
  winner.median_us = winner.low_us = winner.high_us = trial.measurement.median_us;
  winner.verification = trial.verification;
  winner.resources = trial.resources;
  winner.measured_at = std::move(started_at);
  return winner;
}

constexpr const char* kDeviceFilter =
    "(:silicon_class = '' OR silicon_class = :silicon_class) AND "
    "(:device_label = '' OR device_label = :device_label COLLATE NOCASE)";

}  // namespace

struct TuningDatabase::Implementation {
  fs::path path;
  SQLite::Database database;
  FileIdentity identity;
  std::mutex mutex;

  Implementation(fs::path where, SQLite::Database opened)
      : path(std::move(where)), database(std::move(opened)), identity(identity_of(path)) {}

  // Runs `work` in one immediate transaction.
  template <typename Work>
  void write(Work work) {
    const std::lock_guard lock(mutex);
    // What SQLite writes to a file that was deleted goes nowhere, without an error.
    if (!path.empty() && identity_of(path) != identity) {
      throw StorageError(path.string() + ": was deleted or replaced while it was open");
    }
    with_storage_errors(path, [&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
    });
  }

  template <typename Work>
  void read(Work work) {
    const std::lock_guard lock(mutex);
    with_storage_errors(path, work);
  }

  std::int64_t scope_id(const TrialScope& scope) {
    SQLite::Statement insert(
        database,
        "INSERT INTO scope (silicon_class, template, interface, source_hash, driver, nvrtc_build,"
        " protocol, tool_version) VALUES (:silicon_class, :template, :interface, :source_hash,"
        " :driver, :nvrtc_build, :protocol, :tool_version) ON CONFLICT DO NOTHING");
    bind_scope(insert, scope);
    insert.bind(":tool_version", scope.environment.tool_version);
    insert.exec();
    SQLite::Statement select(
        database,
        "SELECT id FROM scope WHERE silicon_class = :silicon_class AND template = :template AND"
        " interface = :interface AND source_hash = :source_hash AND driver = :driver AND"
        " nvrtc_build = :nvrtc_build AND protocol = :protocol");
    bind_scope(select, scope);
    select.executeStep();
    return select.getColumn(0).getInt64();
  }

  std::int64_t run_id(const RunInfo& run) {
    SQLite::Statement insert(
        database,
        "INSERT INTO run (guid, device_label, device_uuid, command, started_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    SQLite::bind(insert, run.guid, run.device_label, run.device_uuid, printable(run.command),
                 run.started_at);
    insert.exec();
    SQLite::Statement select(database, "SELECT id FROM run WHERE guid = ?");
    select.bind(1, run.guid);
    select.executeStep();
    return select.getColumn(0).getInt64();
  }
};

TuningDatabase::TuningDatabase(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TuningDatabase::TuningDatabase(TuningDatabase&&) noexcept = default;
TuningDatabase& TuningDatabase::operator=(TuningDatabase&&) noexcept = default;
TuningDatabase::~TuningDatabase() = default;

TuningDatabase TuningDatabase::open(const fs::path& path) {
  SQLite::Database database = open_file(path, tuning_file());
  return TuningDatabase(std::make_unique<Implementation>(path, std::move(database)));
}

std::optional<TuningDatabase> TuningDatabase::open_read_only(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return std::nullopt;
  SQLite::Database database = open_file_read_only(path, tuning_file());
  return TuningDatabase(std::make_unique<Implementation>(path, std::move(database)));
}

TuningDatabase TuningDatabase::in_memory() {
  return TuningDatabase(std::make_unique<Implementation>("", open_in_memory(tuning_file())));
}

const fs::path& TuningDatabase::path() const { return implementation_->path; }

void TuningDatabase::add_trials(const TrialScope& scope, const RunInfo& run,
                                std::span<const Trial> trials) {
  Implementation& self = *implementation_;
  self.write([&] {
    const std::int64_t scope_id = self.scope_id(scope);
    const std::int64_t run_id = self.run_id(run);
    SQLite::Statement insert(
        self.database,
        "INSERT INTO trial (scope, run, m, n, k, layout, math, configuration, status, detail,"
        " median_us, measurement, verification, resources, row_hash) VALUES (:scope, :run, :m, :n,"
        " :k, :layout, :math, :configuration, :status, :detail, :median_us, :measurement,"
        " :verification, :resources, :row_hash)");
    for (const Trial& trial : trials) {
      const TrialColumns columns = columns_of(trial);
      insert.bind(":scope", scope_id);
      insert.bind(":run", run_id);
      bind_problem(insert, columns.problem);
      insert.bind(":configuration", columns.configuration);
      insert.bind(":status", columns.status);
      insert.bind(":detail", columns.detail);
      insert.bind(":median_us", columns.median_us);
      insert.bind(":measurement", columns.measurement);
      insert.bind(":verification", columns.verification);
      insert.bind(":resources", columns.resources);
      insert.bind(":row_hash", row_hash(scope, columns));
      insert.exec();
      insert.reset();
    }
  });
}

std::vector<Trial> TuningDatabase::trials(const TrialScope& scope,
                                          const GemmProblem& problem) const {
  std::vector<Trial> result;
  Implementation& self = *implementation_;
  self.read([&] {
    // Of several trials of a configuration the last counts; the first says where it stands.
    SQLite::Statement select(
        self.database,
        "SELECT trial.* FROM trial JOIN scope ON scope.id = trial.scope"
        " WHERE silicon_class = :silicon_class AND template = :template AND"
        " interface = :interface AND source_hash = :source_hash AND driver = :driver AND"
        " nvrtc_build = :nvrtc_build AND protocol = :protocol AND m = :m AND n = :n AND k = :k AND"
        " layout = :layout AND math = :math ORDER BY trial.id");
    bind_scope(select, scope);
    bind_problem(select, problem);
    std::map<Configuration, std::size_t> places;
    while (select.executeStep()) {
      std::optional<Trial> trial = trial_from(select, scope);
      if (!trial) continue;
      const auto [place, is_new] = places.try_emplace(trial->configuration, result.size());
      if (is_new) {
        result.push_back(std::move(*trial));
      } else {
        result[place->second] = std::move(*trial);
      }
    }
  });
  return result;
}

void TuningDatabase::put_winners(std::span<const Winner> winners) {
  Implementation& self = *implementation_;
  self.write([&] {
    SQLite::Statement insert(
        self.database,
        "INSERT OR REPLACE INTO winner (silicon_class, template, m, n, k, layout, math,"
        " device_label, body, row_hash) VALUES (:silicon_class, :template, :m, :n, :k, :layout,"
        " :math, :device_label, :body, :row_hash)");
    for (const Winner& winner : winners) {
      const std::string body = json(winner).dump();
      bind_problem(insert, winner.problem);
      insert.bind(":silicon_class", winner.silicon_class);
      insert.bind(":template", winner.template_name);
      insert.bind(":device_label", winner.device_label);
      insert.bind(":body", body);
      insert.bind(":row_hash", winner_hash(winner, body));
      insert.exec();
      insert.reset();
    }
  });
}

std::vector<Winner> TuningDatabase::winners(const std::string& silicon_class,
                                            const std::string& device_label) const {
  std::vector<Winner> result;
  Implementation& self = *implementation_;
  self.read([&] {
    SQLite::Statement select(self.database,
                             fmt::format("SELECT * FROM winner WHERE {}", kDeviceFilter));
    select.bind(":silicon_class", silicon_class);
    select.bind(":device_label", device_label);
    while (select.executeStep()) {
      if (std::optional<Winner> winner = winner_from(select)) result.push_back(std::move(*winner));
    }
  });
  std::sort(result.begin(), result.end(), [](const Winner& a, const Winner& b) {
    return std::tie(a.silicon_class, a.problem, a.median_us) <
           std::tie(b.silicon_class, b.problem, b.median_us);
  });
  return result;
}

std::vector<Winner> TuningDatabase::best_trials(const std::string& silicon_class,
                                                const std::string& device_label) const {
  std::vector<Winner> result;
  Implementation& self = *implementation_;
  self.read([&] {
    // SQLite takes the other columns from the row that has the minimum.
    SQLite::Statement select(
        self.database,
        fmt::format("SELECT trial.*, scope.*, device_label, started_at, MIN(median_us) FROM trial"
                    " JOIN scope ON scope.id = trial.scope JOIN run ON run.id = trial.run"
                    " WHERE status = 'ok' AND {}"
                    " GROUP BY trial.scope, m, n, k, layout, math",
                    kDeviceFilter));
    select.bind(":silicon_class", silicon_class);
    select.bind(":device_label", device_label);
    while (select.executeStep()) {
      const TrialScope scope = scope_from(select);
      if (const std::optional<Trial> trial = trial_from(select, scope)) {
        result.push_back(unconfirmed(*trial, scope, select.getColumn("device_label").getString(),
                                     select.getColumn("started_at").getString()));
      }
    }
  });
  return result;
}

void TuningDatabase::put_completed(const CompletedRequest& request) {
  Implementation& self = *implementation_;
  self.write([&] {
    SQLite::Statement insert(self.database, "INSERT OR REPLACE INTO completed VALUES (?, ?, ?, ?)");
    SQLite::bind(insert, request.key, request.reason, request.budget_s, request.trials);
    insert.exec();
  });
}

std::optional<CompletedRequest> TuningDatabase::completed(const std::string& key) const {
  std::optional<CompletedRequest> result;
  Implementation& self = *implementation_;
  self.read([&] {
    SQLite::Statement select(self.database, "SELECT * FROM completed WHERE key = ?");
    select.bind(1, key);
    if (!select.executeStep()) return;
    result = CompletedRequest{key, select.getColumn("reason").getString(),
                              select.getColumn("budget_s").getDouble(),
                              select.getColumn("trials").getInt64()};
  });
  return result;
}

void TuningDatabase::put_rates(const std::string& silicon_class, const Environment& environment,
                               const DeviceRates& rates) {
  Implementation& self = *implementation_;
  self.write([&] {
    SQLite::Statement insert(self.database,
                             "INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?, ?, ?)");
    SQLite::bind(insert, silicon_class, environment.driver, environment.nvrtc_build,
                 environment.measuring_protocol, rates.fma_gflops, rates.copy_gbps);
    insert.exec();
  });
}

std::optional<DeviceRates> TuningDatabase::rates(const std::string& silicon_class,
                                                 const Environment& environment) const {
  std::optional<DeviceRates> result;
  Implementation& self = *implementation_;
  self.read([&] {
    SQLite::Statement select(self.database,
                             "SELECT fma_gflops, copy_gbps FROM rates WHERE silicon_class = ? AND"
                             " driver = ? AND nvrtc_build = ? AND protocol = ?");
    SQLite::bind(select, silicon_class, environment.driver, environment.nvrtc_build,
                 environment.measuring_protocol);
    if (select.executeStep()) {
      result = DeviceRates{select.getColumn(0).getDouble(), select.getColumn(1).getDouble()};
    }
  });
  return result;
}

DatabaseStats TuningDatabase::stats() const {
  DatabaseStats stats{.path = path()};
  std::error_code error;
  if (!path().empty()) stats.bytes = static_cast<std::int64_t>(fs::file_size(path(), error));
  Implementation& self = *implementation_;
  self.read([&] {
    const auto count = [&](const char* what) {
      return self.database.execAndGet(fmt::format("SELECT COUNT(*) FROM {}", what)).getInt64();
    };
    stats.runs = count("run");
    stats.trials = count("trial");
    stats.failed_trials = count("trial WHERE status <> 'ok'");
    stats.winners = count("winner");
    stats.schema_version = self.database.execAndGet("PRAGMA user_version").getInt();
  });
  return stats;
}

fs::path default_database_path() {
  const auto set = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* chosen = set("AUTOTUNE_DB")) return chosen;
  if (const char* data = set("XDG_DATA_HOME")) return fs::path(data) / "autotune" / "autotune.db";
  if (const char* home = set("HOME")) {
    return fs::path(home) / ".local" / "share" / "autotune" / "autotune.db";
  }
  throw StorageError("no place for the database: set AUTOTUNE_DB, XDG_DATA_HOME or HOME");
}

}  // namespace autotune
