#include "db/merge.hpp"

#include <string>

#include <SQLiteCpp/Backup.h>
#include <sqlite3.h>

namespace autotune {
namespace {

// Scopes, runs and problems are known by their contents; those that are there keep their numbers.
constexpr const char* kScopes =
    "INSERT INTO scope (device_class, template, space_version, source_hash, driver, nvrtc_build,"
    " protocol) SELECT device_class, template, space_version, source_hash, driver, nvrtc_build,"
    " protocol FROM other.scope WHERE true ON CONFLICT DO NOTHING";

constexpr const char* kRuns =
    "INSERT INTO run (guid, device_class, device_label, device_uuid, command, started_at,"
    " tool_version, row_hash) SELECT guid, device_class, device_label, device_uuid, command,"
    " started_at, tool_version, row_hash FROM other.run WHERE true ON CONFLICT DO NOTHING";

constexpr const char* kProblems =
    "INSERT INTO problem (operation, key) SELECT operation, key FROM other.problem WHERE true"
    " ON CONFLICT DO NOTHING";

// A row hash covers all of a trial, its scope, its run and its problem. The other columns are for
// the index.
constexpr const char* kTrials =
    "INSERT INTO trial (scope, run, problem, configuration, status, detail, median_us, measurement,"
    " verification, resources, row_hash)"
    " SELECT own_scope.id, own_run.id, own_problem.id, t.configuration, t.status, t.detail,"
    " t.median_us, t.measurement, t.verification, t.resources, t.row_hash"
    " FROM other.trial t"
    " JOIN other.scope s ON s.id = t.scope"
    " JOIN main.scope own_scope ON own_scope.device_class = s.device_class"
    " AND own_scope.template = s.template AND own_scope.space_version = s.space_version"
    " AND own_scope.source_hash = s.source_hash AND own_scope.driver = s.driver"
    " AND own_scope.nvrtc_build = s.nvrtc_build AND own_scope.protocol = s.protocol"
    " JOIN other.run r ON r.id = t.run"
    " JOIN main.run own_run ON own_run.guid = r.guid"
    " JOIN other.problem p ON p.id = t.problem"
    " JOIN main.problem own_problem ON own_problem.key = p.key"
    " WHERE NOT EXISTS (SELECT 1 FROM main.trial known WHERE known.scope = own_scope.id"
    " AND known.problem = own_problem.id AND known.status = t.status"
    " AND known.median_us = t.median_us AND known.row_hash = t.row_hash)"
    " ORDER BY t.id";

constexpr const char* kWinners =
    "INSERT INTO winner (device_class, problem, template, device_label, body, row_hash)"
    " SELECT w.device_class, own_problem.id, w.template, w.device_label, w.body, w.row_hash"
    " FROM other.winner w"
    " JOIN other.problem p ON p.id = w.problem"
    " JOIN main.problem own_problem ON own_problem.key = p.key WHERE true"
    " ON CONFLICT DO UPDATE SET device_label = excluded.device_label, body = excluded.body,"
    " row_hash = excluded.row_hash WHERE json_extract(excluded.body, '$.median_us') <"
    " json_extract(winner.body, '$.median_us')";

constexpr const char* kCompleted =
    "INSERT INTO completed SELECT * FROM other.completed WHERE true ON CONFLICT DO NOTHING";

constexpr const char* kRates =
    "INSERT INTO rates SELECT * FROM other.rates WHERE true ON CONFLICT DO NOTHING";

}  // namespace

AttachedDatabase::AttachedDatabase(SQLite::Database& database, SQLite::Database other)
    : database_(database) {
  // A migrated copy has no file of its own to attach.
  const std::string file = sqlite3_db_filename(other.getHandle(), "main");
  SQLite::Statement attach(database, "ATTACH ? AS other");
  attach.bind(1, file);
  attach.exec();
  if (file.empty()) SQLite::Backup(database, "other", other, "main").executeStep();
}

AttachedDatabase::~AttachedDatabase() {
  database_.tryExec("DETACH other");
}

MergeCounts merge_attached(SQLite::Database& database) {
  database.exec(kScopes);
  database.exec(kRuns);
  database.exec(kProblems);
  MergeCounts counts;
  counts.trials = database.exec(kTrials);
  counts.winners = database.exec(kWinners);
  database.exec(kCompleted);
  database.exec(kRates);
  return counts;
}

}  // namespace autotune
