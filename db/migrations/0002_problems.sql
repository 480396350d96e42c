-- Problems become rows of their own, known by the operation's name and a key, so that the tables
-- hold problems of any operation. Schema 1 held GEMM problems in FP32 alone, as columns. The CPU as
-- a device, which was called "host", becomes "cpu".
--
-- All tables are made anew and filled from the old ones. Rows are hashed anew, each over its columns
-- of today. A row that failed its old hash keeps that hash, and so fails still. field_hash() is of
-- db/migrations/field_hash.cpp. The casts change damaged rows alone, which STRICT would refuse.

-- Views that somebody put into the file stay as they are, whether they still work or not.
PRAGMA legacy_alter_table = ON;
DROP INDEX IF EXISTS trial_by_problem;
DROP INDEX IF EXISTS run_by_label;
DROP INDEX IF EXISTS winner_by_label;
ALTER TABLE trial RENAME TO trial_of_schema_1;
ALTER TABLE winner RENAME TO winner_of_schema_1;
ALTER TABLE completed RENAME TO completed_of_schema_1;
ALTER TABLE rates RENAME TO rates_of_schema_1;
ALTER TABLE run RENAME TO run_of_schema_1;
ALTER TABLE scope RENAME TO scope_of_schema_1;

-- The identity by which trials are found: what was timed, and the environment it was timed in.
CREATE TABLE scope (
  id INTEGER PRIMARY KEY,
  device_class TEXT NOT NULL,
  template TEXT NOT NULL,
  space_version INTEGER NOT NULL,
  source_hash TEXT NOT NULL,
  driver TEXT NOT NULL,
  nvrtc_build TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  UNIQUE (device_class, template, space_version, source_hash, driver, nvrtc_build, protocol)
) STRICT;

INSERT OR IGNORE INTO scope
SELECT id, CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
           ELSE CAST(silicon_class AS TEXT) END,
  CAST(template AS TEXT), CAST(interface AS INTEGER), CAST(source_hash AS TEXT),
  CAST(driver AS TEXT), CAST(nvrtc_build AS TEXT), CAST(protocol AS INTEGER)
FROM scope_of_schema_1 NOT INDEXED;

-- One call of the tuner: provenance.
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  guid TEXT NOT NULL UNIQUE,
  device_class TEXT NOT NULL,
  device_label TEXT NOT NULL,
  device_uuid TEXT NOT NULL,
  command TEXT NOT NULL,
  started_at TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  row_hash TEXT NOT NULL  -- over all columns except id
) STRICT;

INSERT OR IGNORE INTO run
SELECT id, CAST(guid AS TEXT), new_class, new_label, CAST(device_uuid AS TEXT),
  CAST(command AS TEXT), CAST(started_at AS TEXT), CAST(tool_version AS TEXT),
  CASE row_hash
    WHEN field_hash(guid, silicon_class, device_label, device_uuid, command, started_at,
                    tool_version)
    THEN field_hash(guid, new_class, new_label, device_uuid, command, started_at, tool_version)
    ELSE CAST(row_hash AS TEXT) END
FROM (SELECT *,
        CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
        ELSE CAST(silicon_class AS TEXT) END AS new_class,
        CASE WHEN device_label GLOB 'host: *' THEN 'cpu' || substr(device_label, 5)
        ELSE CAST(device_label AS TEXT) END AS new_label
      FROM run_of_schema_1 NOT INDEXED);
CREATE INDEX run_by_label ON run (device_label COLLATE NOCASE, device_class);

-- The problems that are computed.
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  operation TEXT NOT NULL CHECK (operation <> ''),
  key TEXT NOT NULL UNIQUE  -- operation, sizes and traits: "gemm m=512 n=512 k=64 type=f32 ..."
) STRICT;

-- The table itself is read, since an index may be damaged.
INSERT OR IGNORE INTO problem (operation, key)
SELECT 'gemm', 'gemm m=' || m || ' n=' || n || ' k=' || k || ' type=f32 layout=' || layout
                        || ' math=' || math
FROM (SELECT m, n, k, layout, math FROM trial_of_schema_1 NOT INDEXED
      UNION SELECT m, n, k, layout, math FROM winner_of_schema_1)
ORDER BY m, n, k, layout, math;

-- Append-only, failures included.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scope (id),
  run INTEGER NOT NULL REFERENCES run (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  configuration TEXT NOT NULL,
  status TEXT NOT NULL,
  detail TEXT NOT NULL,
  -- 0 for a trial that is not ok.
  median_us REAL NOT NULL CHECK (median_us >= 0 AND median_us < 1e12),
  measurement TEXT NOT NULL,   -- JSON: samples, spread, clocks
  verification TEXT NOT NULL,  -- JSON
  resources TEXT NOT NULL,     -- JSON
  row_hash TEXT NOT NULL       -- over all columns except the numbers of rows; the scope's columns,
                               -- the run's guid and the problem's key take their places
) STRICT;

INSERT OR IGNORE INTO trial
SELECT t.id, t.scope, t.run, p.id, CAST(t.configuration AS TEXT), CAST(t.status AS TEXT),
  CAST(t.detail AS TEXT), CAST(t.median_us AS REAL), CAST(t.measurement AS TEXT),
  CAST(t.verification AS TEXT), CAST(t.resources AS TEXT),
  CASE t.row_hash
    WHEN field_hash(o.silicon_class, o.template, o.interface, o.source_hash, o.driver,
                    o.nvrtc_build, o.protocol, r.guid, t.m, t.n, t.k, t.layout, t.math,
                    t.configuration, t.status, t.detail, t.median_us, t.measurement,
                    t.verification, t.resources)
    THEN field_hash(s.device_class, s.template, s.space_version, s.source_hash, s.driver,
                    s.nvrtc_build, s.protocol, r.guid, p.key,
                    t.configuration, t.status, t.detail, t.median_us, t.measurement,
                    t.verification, t.resources)
    ELSE CAST(t.row_hash AS TEXT) END
FROM trial_of_schema_1 t NOT INDEXED
CROSS JOIN scope_of_schema_1 o ON o.id = t.scope
CROSS JOIN scope s ON s.id = t.scope
CROSS JOIN run r ON r.id = t.run
CROSS JOIN problem p
  ON p.key = 'gemm m=' || t.m || ' n=' || t.n || ' k=' || t.k || ' type=f32 layout=' || t.layout
             || ' math=' || t.math
ORDER BY t.id;

-- Finds the trials of a problem, the fastest of them, and the problems of a scope.
CREATE INDEX trial_by_problem ON trial (scope, problem, status, median_us);

-- The answer for one problem in one template's space on one class of device.
CREATE TABLE winner (
  id INTEGER PRIMARY KEY,
  device_class TEXT NOT NULL,
  problem INTEGER NOT NULL REFERENCES problem (id),
  template TEXT NOT NULL,
  device_label TEXT NOT NULL,
  body TEXT NOT NULL,      -- JSON, all of the winner
  row_hash TEXT NOT NULL,  -- over the other columns, with the problem's key for its number
  UNIQUE (device_class, problem, template)
) STRICT;
CREATE INDEX winner_by_label ON winner (device_label COLLATE NOCASE, problem);

-- The body is left as it is: what it says of the device and the problem does not count, the columns
-- do.
INSERT OR IGNORE INTO winner (device_class, problem, template, device_label, body, row_hash)
SELECT new_class, p.id, CAST(template AS TEXT), new_label, CAST(body AS TEXT),
  CASE row_hash
    WHEN field_hash(silicon_class, template, m, n, k, layout, math, device_label, body)
    THEN field_hash(new_class, template, p.key, new_label, body)
    ELSE CAST(row_hash AS TEXT) END
FROM (SELECT *,
        CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
        ELSE CAST(silicon_class AS TEXT) END AS new_class,
        CASE WHEN device_label GLOB 'host: *' THEN 'cpu' || substr(device_label, 5)
        ELSE CAST(device_label AS TEXT) END AS new_label
      FROM winner_of_schema_1) w
JOIN problem p ON p.key = 'gemm m=' || m || ' n=' || n || ' k=' || k || ' type=f32 layout='
                          || layout || ' math=' || math;

-- Requests that were carried to their end.
CREATE TABLE completed (
  key TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  budget_s REAL NOT NULL,
  trials INTEGER NOT NULL,
  row_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests name their problem within the key: "CLASS|64x32x80 NT strict|TEMPLATE...", without the
-- layout where it is NN. Keys of another form stay as they are.
WITH
  class_apart AS (
    SELECT *, substr(key, 1, instr(key, '|') - 1) AS class,
      substr(key, instr(key, '|') + 1) AS behind_class
    FROM completed_of_schema_1),
  problem_apart AS (
    SELECT *, substr(behind_class, 1, instr(behind_class, '|') - 1) AS words,
      substr(behind_class, instr(behind_class, '|')) AS rest
    FROM class_apart),
  sizes_apart AS (
    SELECT *, substr(words, 1, instr(words, ' ') - 1) AS sizes,
      substr(words, instr(words, ' ') + 1) AS traits
    FROM problem_apart),
  values_apart AS (
    SELECT *, substr(sizes, 1, instr(sizes, 'x') - 1) AS m,
      substr(sizes, instr(sizes, 'x') + 1) AS n_and_k,
      CASE instr(traits, ' ') WHEN 0 THEN 'NN'
      ELSE substr(traits, 1, instr(traits, ' ') - 1) END AS layout,
      substr(traits, instr(traits, ' ') + 1) AS math
    FROM sizes_apart),
  translated AS (
    SELECT *, CASE WHEN words GLOB '[0-9]*x[0-9]*x[0-9]* *' THEN
      CASE WHEN class GLOB 'host/*' THEN 'cpu' || substr(class, 5) ELSE class END
      || '|gemm m=' || m || ' n=' || substr(n_and_k, 1, instr(n_and_k, 'x') - 1)
      || ' k=' || substr(n_and_k, instr(n_and_k, 'x') + 1)
      || ' type=f32 layout=' || layout || ' math=' || math || rest
      ELSE CAST(key AS TEXT) END AS new_key
    FROM values_apart)
INSERT OR IGNORE INTO completed (key, reason, budget_s, trials, row_hash)
SELECT new_key, CAST(reason AS TEXT), CAST(budget_s AS REAL), CAST(trials AS INTEGER),
  CASE row_hash WHEN field_hash(key, reason, budget_s, trials)
  THEN field_hash(new_key, reason, budget_s, trials) ELSE CAST(row_hash AS TEXT) END
FROM translated;

-- The maximum rates that were measured of a device.
CREATE TABLE rates (
  device_class TEXT NOT NULL,
  driver TEXT NOT NULL,
  nvrtc_build TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  fma_gflops REAL NOT NULL CHECK (fma_gflops > 0),
  copy_gbps REAL NOT NULL CHECK (copy_gbps > 0),
  row_hash TEXT NOT NULL,
  PRIMARY KEY (device_class, driver, nvrtc_build, protocol)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO rates
SELECT new_class, CAST(driver AS TEXT), CAST(nvrtc_build AS TEXT), CAST(protocol AS INTEGER),
  CAST(fma_gflops AS REAL), CAST(copy_gbps AS REAL),
  CASE row_hash
    WHEN field_hash(silicon_class, driver, nvrtc_build, protocol, fma_gflops, copy_gbps)
    THEN field_hash(new_class, driver, nvrtc_build, protocol, fma_gflops, copy_gbps)
    ELSE CAST(row_hash AS TEXT) END
FROM (SELECT *, CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
                ELSE CAST(silicon_class AS TEXT) END AS new_class
      FROM rates_of_schema_1);

DROP TABLE trial_of_schema_1;
DROP TABLE winner_of_schema_1;
DROP TABLE completed_of_schema_1;
DROP TABLE rates_of_schema_1;
DROP TABLE run_of_schema_1;
DROP TABLE scope_of_schema_1;
PRAGMA legacy_alter_table = OFF;
