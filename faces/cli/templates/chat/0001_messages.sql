CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at TEXT NOT NULL DEFAULT (datetime('now'))
) STRICT;
