-- Who was here, and when (seconds since 1970).
CREATE TABLE visits(
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  ts REAL NOT NULL
) STRICT;
