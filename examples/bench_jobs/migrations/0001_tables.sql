-- The tables of `cargo xtask bench jobs`: rows beside which jobs are added, and the times until jobs started.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  ts INTEGER NOT NULL -- milliseconds since 1970
);

CREATE INDEX events_ts ON events (ts);

CREATE TABLE starts (millis REAL NOT NULL);
