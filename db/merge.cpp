#include "db/merge.hpp"

namespace autotune {
namespace {

// Scopes and runs are known by their contents; those that are there keep their numbers.
constexpr const char* kScopes =
    "INSERT INTO scope (silicon_class, template, interface, source_hash, driver, nvrtc_build,"
    " protocol) SELECT silicon_class, template, interface, source_hash, driver, nvrtc_build,"
    " protocol FROM other.scope WHERE true ON CONFLICT DO NOTHING";

constexpr const char* kRuns =
    "INSERT INTO run (guid, silicon_class, device_label, device_uuid, command, started_at,"
    " tool_version, row_hash) SELECT guid, silicon_class, device_label, device_uuid, command,"
    " started_at, tool_version, row_hash FROM other.run WHERE true ON CONFLICT DO NOTHING";

// A row hash covers all of a trial, its scope and its run. The other columns are for the index.
constexpr const char* kTrials =
    "INSERT INTO trial (scope, run, m, n, k, layout, math, configuration, status, detail,"
    " median_us, measurement, verification, resources, row_hash)"
    " SELECT own_scope.id, own_run.id, t.m, t.n, t.k, t.layout, t.math, t.configuration, t.status,"
    " t.detail, t.median_us, t.measurement, t.verification, t.resources, t.row_hash"
    " FROM other.trial t"
    " JOIN other.scope s ON s.id = t.scope"
    " JOIN main.scope own_scope ON own_scope.silicon_class = s.silicon_class"
    " AND own_scope.template = s.template AND own_scope.interface = s.interface"
    " AND own_scope.source_hash = s.source_hash AND own_scope.driver = s.driver"
    " AND own_scope.nvrtc_build = s.nvrtc_build AND own_scope.protocol = s.protocol"
    " JOIN other.run r ON r.id = t.run"
    " JOIN main.run own_run ON own_run.guid = r.guid"
    " WHERE NOT EXISTS (SELECT 1 FROM main.trial known WHERE known.scope = own_scope.id"
    " AND known.m = t.m AND known.n = t.n AND known.k = t.k AND known.layout = t.layout"
    " AND known.math = t.math AND known.status = t.status AND known.median_us = t.median_us"
    " AND known.row_hash = t.row_hash)"
    " ORDER BY t.id";

constexpr const char* kWinners =
    "INSERT INTO winner SELECT * FROM other.winner WHERE true"
    " ON CONFLICT DO UPDATE SET device_label = excluded.device_label, body = excluded.body,"
    " row_hash = excluded.row_hash WHERE json_extract(excluded.body, '$.median_us') <"
    " json_extract(winner.body, '$.median_us')";

constexpr const char* kCompleted =
    "INSERT INTO completed SELECT * FROM other.completed WHERE true ON CONFLICT DO NOTHING";

constexpr const char* kRates =
    "INSERT INTO rates SELECT * FROM other.rates WHERE true ON CONFLICT DO NOTHING";

}  // namespace

AttachedDatabase::AttachedDatabase(SQLite::Database& database, const std::filesystem::path& other)
    : database_(database) {
  SQLite::Statement attach(database, "ATTACH ? AS other");
  attach.bind(1, other.string());
  attach.exec();
}

AttachedDatabase::~AttachedDatabase() {
  database_.tryExec("DETACH other");
}

MergeCounts merge_attached(SQLite::Database& database) {
  database.exec(kScopes);
  database.exec(kRuns);
  MergeCounts counts;
  counts.trials = database.exec(kTrials);
  counts.winners = database.exec(kWinners);
  database.exec(kCompleted);
  database.exec(kRates);
  return counts;
}

}  // namespace autotune
