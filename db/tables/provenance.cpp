#include "db/tables/provenance.hpp"

#include <sqlite3.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

void bind_scope(SQLite::Statement& statement, const TrialScope& scope) {
  statement.bind(":device_class", scope.device_class);
  statement.bind(":template", scope.template_name);
  statement.bind(":space_version", scope.space_version);
  statement.bind(":source_hash", scope.source_hash);
  statement.bind(":driver", scope.environment.driver);
  statement.bind(":nvrtc_build", scope.environment.nvrtc_build);
  statement.bind(":protocol", scope.environment.measuring_protocol);
}

TrialScope scope_from(const SQLite::Statement& row) {
  TrialScope scope;
  scope.device_class = row.getColumn("device_class").getString();
  scope.template_name = row.getColumn("template").getString();
  scope.space_version = row.getColumn("space_version").getInt();
  scope.source_hash = row.getColumn("source_hash").getString();
  scope.environment.driver = row.getColumn("driver").getString();
  scope.environment.nvrtc_build = row.getColumn("nvrtc_build").getString();
  scope.environment.measuring_protocol = row.getColumn("protocol").getInt();
  return scope;
}

std::string run_hash(const RunColumns& run) {
  return FieldHasher()
      .add(run.info.guid)
      .add(run.device_class)
      .add(run.info.device_label)
      .add(run.info.device_uuid)
      .add(run.info.command)
      .add(run.info.started_at)
      .add(run.tool_version)
      .digest();
}

std::optional<std::int64_t> first_integer(SQLite::Statement& select) {
  if (!select.executeStep()) return std::nullopt;
  return select.getColumn(0).getInt64();
}

// An index that is damaged may hide a row that was just written.
std::int64_t must_be_there(std::optional<std::int64_t> id) {
  if (!id) throw SQLite::Exception("a row is not found where it was written", SQLITE_CORRUPT);
  return *id;
}

}  // namespace

std::optional<std::int64_t> find_scope(SQLite::Database& database, const TrialScope& scope) {
  SQLite::Statement select(
      database,
      "SELECT id FROM scope WHERE device_class = :device_class AND template = :template AND"
      " space_version = :space_version AND source_hash = :source_hash AND driver = :driver AND"
      " nvrtc_build = :nvrtc_build AND protocol = :protocol");
  bind_scope(select, scope);
  return first_integer(select);
}

std::vector<StoredScope> select_scopes(SQLite::Database& database, const ResultFilter& filter) {
  // Only the columns of the filter are named, so that SQLite can use an index.
  std::string text = "SELECT * FROM scope WHERE true";
  if (!filter.device_class.empty()) text += " AND device_class = :device_class";
  if (!filter.device_label.empty()) {
    text +=
        " AND EXISTS (SELECT 1 FROM run WHERE run.device_label = :device_label COLLATE NOCASE AND"
        " run.device_class = scope.device_class)";
  }
  SQLite::Statement select(database, text + " ORDER BY id");
  if (!filter.device_class.empty()) select.bind(":device_class", filter.device_class);
  if (!filter.device_label.empty()) {
    select.bind(":device_label", current_label(filter.device_label));
  }
  std::vector<StoredScope> scopes;
  while (select.executeStep()) {
    scopes.push_back({select.getColumn("id").getInt64(), scope_from(select)});
  }
  return scopes;
}

std::int64_t make_scope(SQLite::Database& database, const TrialScope& scope) {
  SQLite::Statement insert(
      database,
      "INSERT INTO scope (device_class, template, space_version, source_hash, driver, nvrtc_build,"
      " protocol) VALUES (:device_class, :template, :space_version, :source_hash, :driver,"
      " :nvrtc_build, :protocol) ON CONFLICT DO NOTHING");
  bind_scope(insert, scope);
  insert.exec();
  return must_be_there(find_scope(database, scope));
}

std::int64_t make_run(SQLite::Database& database, RunColumns run) {
  run.info.device_label = current_label(run.info.device_label);
  SQLite::Statement insert(
      database,
      "INSERT INTO run (guid, device_class, device_label, device_uuid, command, started_at,"
      " tool_version, row_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (guid) DO UPDATE SET"
      " device_class = excluded.device_class, device_label = excluded.device_label,"
      " device_uuid = excluded.device_uuid, command = excluded.command,"
      " started_at = excluded.started_at, tool_version = excluded.tool_version,"
      " row_hash = excluded.row_hash WHERE run.row_hash <> field_hash(run.guid, run.device_class,"
      " run.device_label, run.device_uuid, run.command, run.started_at, run.tool_version)");
  insert.bind(1, run.info.guid);
  insert.bind(2, run.device_class);
  insert.bind(3, run.info.device_label);
  insert.bind(4, run.info.device_uuid);
  insert.bind(5, run.info.command);
  insert.bind(6, run.info.started_at);
  insert.bind(7, run.tool_version);
  insert.bind(8, run_hash(run));
  insert.exec();
  return must_be_there(find_run(database, run.info.guid));
}

std::optional<std::int64_t> find_run(SQLite::Database& database, const std::string& guid) {
  SQLite::Statement select(database, "SELECT id FROM run WHERE guid = ?");
  select.bind(1, guid);
  return first_integer(select);
}

std::optional<RunColumns> run_from(const SQLite::Statement& row) {
  const auto text = [&](const char* column) { return row.getColumn(column).getString(); };
  const RunColumns run = {{.guid = text("guid"),
                           .device_label = text("device_label"),
                           .device_uuid = text("device_uuid"),
                           .command = text("command"),
                           .started_at = text("started_at")},
                          text("run_device_class"),
                          text("tool_version")};
  if (run_hash(run) != text("run_hash")) return std::nullopt;
  return run;
}

}  // namespace autotune
