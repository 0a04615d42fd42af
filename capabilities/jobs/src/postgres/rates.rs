//! The starts of jobs in queues with a rate, counted across all processes: see [`crate::table::rates`].
//!
//! The statements that take jobs of one queue run one after the other, under a lock that the transaction keeps. It is a
//! statement of its own: the next one sees what was committed before.

use super::columns::now_clock_millis;

/// Waits until no other process takes jobs of these queues, or gives their starts back. All processes lock in one
/// order, before they change rows of starts, so that no two wait for each other.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('_sampan_job_starts'), queue)
    FROM (SELECT hashtext(name) AS queue FROM unnest(?::text[]) AS t(name) ORDER BY 1) queues";

/// Takes jobs of a queue with a rate that can start, for this process, and counts their starts: at most as many as
/// there is room for, and as the rate allows beside all others. Starts that the server's clock counted while it was
/// ahead count from now on.
///
/// Parameters: the time that a test has set, the period, the queue, the room, the rate, the holder, the lease, and the
/// longest arguments to give.
pub(super) const TAKE_RATED: &str = concat!(
    "WITH clock AS MATERIALIZED (
      SELECT now, (now / part + 1) * part AS at, period FROM (
        SELECT coalesce($1::bigint, ",
    now_clock_millis!(),
    ") AS now, $2::bigint AS period, greatest(1, $2::bigint / 1000) AS part) c),
    forgotten AS (
      DELETE FROM _sampan_job_starts s USING clock
      WHERE s.queue = $3::text AND (s.until <= now OR s.at > now + (s.until - s.at) / 1000 + 1)
      RETURNING s.jobs, s.until > now AS is_ahead),
    counted AS (
      SELECT coalesce(sum(s.jobs), 0)::bigint AS jobs FROM _sampan_job_starts s, clock
      WHERE s.queue = $3::text AND s.at > now - period),
    found AS MATERIALIZED (
      SELECT id FROM _sampan_jobs WHERE state = 'ready' AND queue = $3::text ORDER BY priority DESC, id
      LIMIT least($4::bigint, greatest(0, $5::bigint - (SELECT jobs FROM counted))) FOR UPDATE SKIP LOCKED),
    noted AS (
      INSERT INTO _sampan_job_starts AS s (queue, at, until, jobs)
      SELECT $3::text, clock.at, clock.at + clock.period, n.jobs FROM clock, (
        SELECT (SELECT count(*) FROM found)
          + (SELECT coalesce(sum(jobs), 0) FROM forgotten WHERE is_ahead)::bigint AS jobs) n
      WHERE n.jobs > 0
      ON CONFLICT (queue, at) DO UPDATE SET jobs = s.jobs + excluded.jobs, until = greatest(s.until, excluded.until))
    UPDATE _sampan_jobs j SET state = 'running', attempt = attempt + 1, token = token + 1, holder = $6::text,
      lease = clock.now + $7::bigint, started = clock.now
    FROM clock WHERE j.id = ANY(ARRAY(SELECT id FROM found))
    RETURNING j.id, j.name, j.queue, CASE WHEN octet_length(j.args) <= $8::integer THEN j.args END, j.attempt, j.token,
      j.priority, j.trace, clock.at"
);

/// The time until the rate of a queue lets another job start, in milliseconds; nothing where it lets one start now.
///
/// Parameters: the time that a test has set, the period, the queue, and the rate.
pub(super) const OPENS: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, ",
    now_clock_millis!(),
    ") AS now)
    SELECT (min(s.at) + $2::bigint - min(now))::bigint FROM _sampan_job_starts s, clock
    WHERE s.queue = $3::text AND s.at > now - $2::bigint AND s.jobs > 0 HAVING sum(s.jobs) >= $4::bigint"
);

/// Takes back the starts of jobs that have not begun.
pub(super) const GIVE_BACK_STARTS: &str =
    "UPDATE _sampan_job_starts SET jobs = greatest(0, jobs - ?::bigint)
    WHERE queue = ?::text AND at = ?::bigint";
