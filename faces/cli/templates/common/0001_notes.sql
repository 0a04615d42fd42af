CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  added_at TEXT NOT NULL DEFAULT (datetime('now'))
) STRICT;
