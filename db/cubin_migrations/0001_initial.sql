CREATE TABLE cubin (
  id INTEGER PRIMARY KEY,    -- grows, so it orders what was used in the same second
  key TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL,        -- CBOR of cubin, log and resources, compressed with zstd
  body_hash TEXT NOT NULL,   -- over key and body
  used_at INTEGER NOT NULL   -- seconds since 1970, an hour late at most
) STRICT;
CREATE INDEX cubin_by_use ON cubin (used_at);
