-- The rows that `cargo xtask bench load` reads.
CREATE TABLE numbers (
  id INTEGER PRIMARY KEY,
  n INTEGER NOT NULL
);

WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 100000)
INSERT INTO numbers (id, n) SELECT n, n % 1000 FROM count;
