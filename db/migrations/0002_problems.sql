-- Problems become rows of their own, known by the operation's name and a key, so that the tables
-- hold problems of any operation. Schema 1 held GEMM problems in FP32 alone, as columns.
--
-- Rows are hashed anew, each over its columns of today. A row that failed its old hash keeps that
-- hash, and so fails still. field_hash() is of db/migrations/field_hash.cpp.

CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  operation TEXT NOT NULL CHECK (operation <> ''),
  key TEXT NOT NULL UNIQUE  -- operation, sizes and traits: "gemm m=512 n=512 k=64 type=f32 ..."
) STRICT;

-- The table itself is read, since an index may be damaged.
INSERT OR IGNORE INTO problem (operation, key)
SELECT 'gemm', 'gemm m=' || m || ' n=' || n || ' k=' || k || ' type=f32 layout=' || layout
                        || ' math=' || math
FROM (SELECT m, n, k, layout, math FROM trial NOT INDEXED
      UNION SELECT m, n, k, layout, math FROM winner)
ORDER BY m, n, k, layout, math;

-- Trials. The casts change damaged rows alone, which STRICT would refuse otherwise.
DROP INDEX trial_by_problem;
ALTER TABLE trial RENAME TO trial_of_schema_1;
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
    WHEN field_hash(s.silicon_class, s.template, s.interface, s.source_hash, s.driver,
                    s.nvrtc_build, s.protocol, r.guid, t.m, t.n, t.k, t.layout, t.math,
                    t.configuration, t.status, t.detail, t.median_us, t.measurement,
                    t.verification, t.resources)
    THEN field_hash(s.device_class, s.template, s.interface, s.source_hash, s.driver,
                    s.nvrtc_build, s.protocol, r.guid, p.key,
                    t.configuration, t.status, t.detail, t.median_us, t.measurement,
                    t.verification, t.resources)
    ELSE CAST(t.row_hash AS TEXT) END
FROM trial_of_schema_1 t NOT INDEXED
CROSS JOIN (SELECT *, CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
                      ELSE silicon_class END AS device_class FROM scope) s ON s.id = t.scope
CROSS JOIN run r ON r.id = t.run
CROSS JOIN problem p
  ON p.key = 'gemm m=' || t.m || ' n=' || t.n || ' k=' || t.k || ' type=f32 layout=' || t.layout
             || ' math=' || t.math
ORDER BY t.id;

DROP TABLE trial_of_schema_1;
-- For the trials of a problem, the fastest of them, and the problems of a scope.
CREATE INDEX trial_by_problem ON trial (scope, problem, status, median_us);

-- Winners. The body is left as it is; what it says of the device and the problem counts no more
-- than before: the columns are what was found.
DROP INDEX winner_by_label;
ALTER TABLE winner RENAME TO winner_of_schema_1;
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

INSERT OR IGNORE INTO winner (device_class, problem, template, device_label, body, row_hash)
SELECT device_class, p.id, CAST(template AS TEXT), new_label, CAST(body AS TEXT),
  CASE row_hash
    WHEN field_hash(silicon_class, template, m, n, k, layout, math, device_label, body)
    THEN field_hash(device_class, template, p.key, new_label, body)
    ELSE CAST(row_hash AS TEXT) END
FROM (SELECT *,
        CASE WHEN silicon_class GLOB 'host/*' THEN 'cpu' || substr(silicon_class, 5)
        ELSE CAST(silicon_class AS TEXT) END AS device_class,
        CASE WHEN device_label GLOB 'host: *' THEN 'cpu' || substr(device_label, 5)
        ELSE CAST(device_label AS TEXT) END AS new_label
      FROM winner_of_schema_1) w
JOIN problem p ON p.key = 'gemm m=' || m || ' n=' || n || ' k=' || k || ' type=f32 layout='
                          || layout || ' math=' || math;
DROP TABLE winner_of_schema_1;

-- The CPU as a device was called "host".
UPDATE run SET
  row_hash = CASE row_hash
    WHEN field_hash(guid, silicon_class, device_label, device_uuid, command, started_at,
                    tool_version)
    THEN field_hash(guid, 'cpu' || substr(silicon_class, 5), 'cpu' || substr(device_label, 5),
                    device_uuid, command, started_at, tool_version)
    ELSE row_hash END,
  silicon_class = 'cpu' || substr(silicon_class, 5),
  device_label = 'cpu' || substr(device_label, 5)
WHERE silicon_class GLOB 'host/*' AND device_label GLOB 'host: *';

UPDATE rates SET
  row_hash = CASE row_hash
    WHEN field_hash(silicon_class, driver, nvrtc_build, protocol, fma_gflops, copy_gbps)
    THEN field_hash('cpu' || substr(silicon_class, 5), driver, nvrtc_build, protocol, fma_gflops,
                    copy_gbps)
    ELSE row_hash END,
  silicon_class = 'cpu' || substr(silicon_class, 5)
WHERE silicon_class GLOB 'host/*';

UPDATE scope SET silicon_class = 'cpu' || substr(silicon_class, 5)
WHERE silicon_class GLOB 'host/*';

ALTER TABLE run RENAME COLUMN silicon_class TO device_class;
ALTER TABLE rates RENAME COLUMN silicon_class TO device_class;
ALTER TABLE scope RENAME COLUMN silicon_class TO device_class;
ALTER TABLE scope RENAME COLUMN interface TO space_version;

-- Requests name their problem within the key: "CLASS|64x32x80 NT strict|TEMPLATE...", without the
-- layout where it is NN. Keys of another form stay as they are.
ALTER TABLE completed RENAME TO completed_of_schema_1;
CREATE TABLE completed (
  key TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  budget_s REAL NOT NULL,
  trials INTEGER NOT NULL,
  row_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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
DROP TABLE completed_of_schema_1;
