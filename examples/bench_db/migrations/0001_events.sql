-- The table of `cargo xtask bench db`, the same for every server that it measures.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  ts INTEGER NOT NULL -- milliseconds since 1970
);

CREATE INDEX events_ts ON events (ts);

-- As wide as the rows that the routes insert, and older than all of them.
WITH RECURSIVE seed (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seed WHERE n < 1000)
INSERT INTO events (id, kind, payload, ts)
SELECT n, 'seed', printf('{"user":%05d,"page":"/home"}', n), 1700000000000 + n * 1000 FROM seed;
