CREATE TABLE cubin (
  key TEXT NOT NULL PRIMARY KEY,
  body BLOB NOT NULL,       -- CBOR of cubin, log and resources, compressed with zstd
  body_hash TEXT NOT NULL,
  used_at INTEGER NOT NULL  -- hours since 1970
) STRICT, WITHOUT ROWID;
CREATE INDEX cubin_by_use ON cubin (used_at);
