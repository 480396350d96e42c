-- What trials are found by: the identity of what was timed, and the environment it was timed in.
CREATE TABLE scope (
  id INTEGER PRIMARY KEY,
  silicon_class TEXT NOT NULL,
  template TEXT NOT NULL,
  interface INTEGER NOT NULL,
  source_hash TEXT NOT NULL,
  driver TEXT NOT NULL,
  nvrtc_build TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  UNIQUE (silicon_class, template, interface, source_hash, driver, nvrtc_build, protocol)
) STRICT;

-- One call of the tuner: provenance.
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  guid TEXT NOT NULL UNIQUE,
  silicon_class TEXT NOT NULL,
  device_label TEXT NOT NULL,
  device_uuid TEXT NOT NULL,
  command TEXT NOT NULL,
  started_at TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  row_hash TEXT NOT NULL  -- over all columns but id
) STRICT;
CREATE INDEX run_by_label ON run (device_label COLLATE NOCASE, silicon_class);

-- Append-only, failures included. median_us is 0 for a trial that is not ok.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scope (id),
  run INTEGER NOT NULL REFERENCES run (id),
  m INTEGER NOT NULL CHECK (m > 0),
  n INTEGER NOT NULL CHECK (n > 0),
  k INTEGER NOT NULL CHECK (k > 0),
  layout TEXT NOT NULL,
  math TEXT NOT NULL,
  configuration TEXT NOT NULL,
  status TEXT NOT NULL,
  detail TEXT NOT NULL,
  median_us REAL NOT NULL CHECK (median_us >= 0 AND median_us < 1e12),
  measurement TEXT NOT NULL,   -- JSON: samples, spread, clocks
  verification TEXT NOT NULL,  -- JSON
  resources TEXT NOT NULL,     -- JSON
  row_hash TEXT NOT NULL       -- over all columns but the numbers of rows, for which the scope's
                               -- columns and the run's guid go in
) STRICT;
CREATE INDEX trial_by_problem ON trial (scope, m, n, k, layout, math, status, median_us);

-- The answer for one problem in one template's space on one class of device.
CREATE TABLE winner (
  silicon_class TEXT NOT NULL,
  template TEXT NOT NULL,
  m INTEGER NOT NULL CHECK (m > 0),
  n INTEGER NOT NULL CHECK (n > 0),
  k INTEGER NOT NULL CHECK (k > 0),
  layout TEXT NOT NULL,
  math TEXT NOT NULL,
  device_label TEXT NOT NULL,
  body TEXT NOT NULL,      -- JSON, all of the winner
  row_hash TEXT NOT NULL,  -- over the other columns
  PRIMARY KEY (silicon_class, m, n, k, layout, math, template)
) STRICT, WITHOUT ROWID;
CREATE INDEX winner_by_label ON winner (device_label COLLATE NOCASE);

-- Requests that were carried to their end.
CREATE TABLE completed (
  key TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  budget_s REAL NOT NULL,
  trials INTEGER NOT NULL,
  row_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a device was measured to do at most.
CREATE TABLE rates (
  silicon_class TEXT NOT NULL,
  driver TEXT NOT NULL,
  nvrtc_build TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  fma_gflops REAL NOT NULL CHECK (fma_gflops > 0),
  copy_gbps REAL NOT NULL CHECK (copy_gbps > 0),
  row_hash TEXT NOT NULL,
  PRIMARY KEY (silicon_class, driver, nvrtc_build, protocol)
) STRICT, WITHOUT ROWID;
