//! The table in which all processes on one database server share values, and the statements on it. All times are those
//! of the server's clock.

use sampan_host::database::OwnTable;

/// Makes the table, one process after the other. The values are no loss after a crash of the server.
pub(crate) const MAKE: &str = "
DO $sampan$ BEGIN
  PERFORM pg_advisory_xact_lock(6598739400034934363);
  CREATE UNLOGGED TABLE IF NOT EXISTS _sampan_cache(
    key bytea PRIMARY KEY, token bigint GENERATED ALWAYS AS IDENTITY, kind smallint NOT NULL, value bytea,
    number bigint, bytes integer NOT NULL, ends timestamptz NOT NULL
  );
  CREATE INDEX IF NOT EXISTS _sampan_cache_ends ON _sampan_cache(ends);
  CREATE INDEX IF NOT EXISTS _sampan_cache_token ON _sampan_cache(token);
END $sampan$";

/// The table, and the statement that makes it.
pub(crate) const SERVER_TABLES: OwnTable = OwnTable {
    name: "_sampan_cache",
    column: None,
    statements: &[MAKE],
};

/// Reads the row of a key that is in use.
pub(crate) const READ: &str = "
SELECT kind, value, number, token FROM _sampan_cache WHERE key = $1 AND ends > clock_timestamp()";

/// Keeps a value for `$6` seconds, or removes the key.
pub(crate) const PUT: &str = "
INSERT INTO _sampan_cache (key, kind, value, number, bytes, ends)
VALUES ($1, $2, $3, $4, $5, coalesce(clock_timestamp() + make_interval(secs => $6), 'infinity'))
ON CONFLICT (key) DO UPDATE SET token = DEFAULT, kind = excluded.kind, value = excluded.value,
    number = excluded.number, bytes = excluded.bytes, ends = excluded.ends";

/// Takes note that the value of a key is being made. Gives nothing where the row is in use.
pub(crate) const CLAIM: &str = "
INSERT INTO _sampan_cache AS c (key, kind, bytes, ends)
VALUES ($1, 0, $2, clock_timestamp() + make_interval(secs => $3))
ON CONFLICT (key) DO UPDATE SET token = DEFAULT, kind = 0, value = NULL, number = NULL, bytes = excluded.bytes,
    ends = excluded.ends
WHERE c.ends <= clock_timestamp() RETURNING token";

/// Keeps a value that was made, unless the key was changed since.
pub(crate) const FINISH: &str = "
UPDATE _sampan_cache SET token = DEFAULT, kind = $2, value = $3, number = $4, bytes = $5,
    ends = coalesce(clock_timestamp() + make_interval(secs => $6), 'infinity')
WHERE key = $1 AND token = $7";

/// Adds `$2` to the number of a key, and gives the sum: nothing where the value is no whole number, or the sum is too
/// large. A new key is kept for `$4` seconds.
pub(crate) const ADD: &str = "
INSERT INTO _sampan_cache AS c (key, kind, number, bytes, ends)
VALUES ($1, 3, $2, $3, coalesce(clock_timestamp() + make_interval(secs => $4), 'infinity'))
ON CONFLICT (key) DO UPDATE SET token = DEFAULT, kind = 3, value = NULL, bytes = excluded.bytes,
    number = excluded.number
        + CASE WHEN c.kind = 0 OR c.ends <= clock_timestamp() THEN 0 ELSE coalesce(c.number, 0) END,
    ends = CASE WHEN c.kind = 0 OR c.ends <= clock_timestamp() THEN excluded.ends ELSE c.ends END
WHERE c.kind = 0 OR c.ends <= clock_timestamp() OR c.kind = 3 AND c.value IS NULL
    AND CAST(coalesce(c.number, 0) AS numeric) + excluded.number
        BETWEEN -9223372036854775808 AND 9223372036854775807
RETURNING number";

/// Removes rows whose time is over, `$1` at most.
pub(crate) const PRUNE: &str = "
DELETE FROM _sampan_cache WHERE key IN (
    SELECT key FROM _sampan_cache WHERE ends < now() ORDER BY ends LIMIT $1 FOR UPDATE SKIP LOCKED)";

/// Removes the rows that were changed the longest ago, `$2` at most, where all have more than `$1` bytes.
pub(crate) const EVICT: &str = "
DELETE FROM _sampan_cache WHERE key IN (
    SELECT key FROM _sampan_cache WHERE key IN (
        SELECT key FROM (
            SELECT key, sum(bytes) OVER (ORDER BY token) - bytes AS before
            FROM (SELECT key, token, bytes FROM _sampan_cache ORDER BY token LIMIT $2) AS oldest
        ) AS summed
        WHERE before < (SELECT sum(bytes) FROM _sampan_cache) - CAST($1 AS bigint))
    FOR UPDATE SKIP LOCKED)";
