//! The statements of a keeper. None looks at all rows, and none waits for a row that another process has locked.
//!
//! Rows that were found are changed by `id = ANY(ARRAY(...))`. In a join PostgreSQL expects a tenth of all rows of a
//! subquery whose `LIMIT` it does not know, and reads the whole table.
//!
//! Several rows go into one statement as columns (`unnest`). An end counts only where the row still has the token of
//! the attempt.

use super::columns::{clock_millis, ended_key, now_millis};

/// The ends of attempts: what was told, the rows that are still those of their attempts, and what becomes of them.
///
/// `done` goes or is kept, `again` is due after a pause, `off` (given back, because this process cannot do it) after
/// half of its age, `dead` is kept. Gives each that was told: the number, whether it counted, whether another process
/// has its row locked, and the token.
pub(super) const END: &str = concat!(
    "WITH clock AS (SELECT ",
    clock_millis!(),
    " AS now),
    told AS (
      SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::text[], ?::text[])
        AS t(id, token, outcome, pause, error, args)),
    mine AS MATERIALIZED (
      SELECT t.*, j.batch FROM told t JOIN _sampan_jobs j ON j.id = t.id AND j.token = t.token
      WHERE j.state = 'running' ORDER BY j.id FOR UPDATE OF j SKIP LOCKED),
    removed AS (
      DELETE FROM _sampan_jobs j USING mine m WHERE j.id = m.id AND m.outcome = 'done' AND NOT ?::boolean),
    changed AS (
      UPDATE _sampan_jobs j SET
        state = CASE WHEN m.outcome IN ('done', 'dead') THEN m.outcome ELSE 'scheduled' END,
        ended = CASE WHEN m.outcome IN ('done', 'dead') THEN ",
    now_millis!(),
    " END,
        due = CASE m.outcome WHEN 'again' THEN clock.now + m.pause
          WHEN 'off' THEN clock.now + greatest(10000, least(3600000, (clock.now - j.added) / 2)) ELSE j.due END,
        attempt = CASE m.outcome WHEN 'off' THEN j.attempt - 1 ELSE j.attempt END,
        unique_key = CASE WHEN m.outcome IN ('done', 'dead') THEN ",
    ended_key!(),
    " ELSE j.unique_key END,
        args = coalesce(m.args, j.args), lease = NULL, holder = NULL,
        errors = CASE WHEN m.error IS NULL THEN j.errors WHEN j.errors IS NULL THEN '[' || m.error || ']'
          ELSE left(j.errors, -1) || ',' || m.error || ']' END
      FROM mine m, clock WHERE j.id = m.id AND (m.outcome <> 'done' OR ?::boolean)),
    counted AS (
      UPDATE _sampan_job_batches b SET remaining = b.remaining - c.jobs, dead = b.dead + c.dead
      FROM (SELECT batch, count(*) AS jobs, count(*) FILTER (WHERE outcome = 'dead') AS dead FROM mine
        WHERE batch IS NOT NULL AND outcome IN ('done', 'dead') GROUP BY batch) c
      WHERE b.id = c.batch)
    SELECT t.id, m.id IS NOT NULL, EXISTS (SELECT 1 FROM _sampan_jobs j
        WHERE j.id = t.id AND j.token = t.token AND j.state = 'running'), t.token
    FROM told t LEFT JOIN mine m ON m.id = t.id AND m.token = t.token"
);

/// Adds the jobs that follow batches whose jobs have all ended.
pub(super) const END_BATCHES: &str = concat!(
    "WITH ended AS (
      DELETE FROM _sampan_job_batches WHERE id = ANY(ARRAY(
        SELECT id FROM _sampan_job_batches WHERE remaining <= 0 ORDER BY id LIMIT ?::bigint FOR UPDATE SKIP LOCKED))
      RETURNING *)
    INSERT INTO _sampan_jobs(name, queue, args, state, priority, due, added)
    SELECT job, queue, format('{\"batch\":%s,\"done\":%s,\"dead\":%s,\"cancelled\":%s,\"args\":%s}',
      id, size - dead - cancelled, dead, cancelled, args), 'ready', 0, ",
    now_millis!(),
    ", ",
    now_millis!(),
    " FROM ended WHERE job IS NOT NULL"
);

/// Makes jobs ready that are due. Gives the server's clock, the number of these jobs, and when the next is due.
pub(super) const PROMOTE: &str = concat!(
    "WITH clock AS (SELECT ",
    clock_millis!(),
    " AS now),
    due AS MATERIALIZED (
      SELECT id FROM _sampan_jobs WHERE state = 'scheduled' AND due <= (SELECT now FROM clock)
      ORDER BY due LIMIT ?::bigint FOR UPDATE SKIP LOCKED),
    promoted AS (UPDATE _sampan_jobs SET state = 'ready' WHERE id = ANY(ARRAY(SELECT id FROM due)) RETURNING 1)
    SELECT now, (SELECT count(*) FROM promoted),
      (SELECT min(due) FROM _sampan_jobs WHERE state = 'scheduled' AND due > (SELECT now FROM clock))
    FROM clock"
);

/// Takes jobs of queues that can start, as many as there is room for, for this process (`holder`).
pub(super) const TAKE: &str = concat!(
    "WITH found AS MATERIALIZED (
      SELECT j.id FROM unnest(?::text[], ?::bigint[]) AS q(queue, room) CROSS JOIN LATERAL (
        SELECT id FROM _sampan_jobs WHERE state = 'ready' AND queue = q.queue
        ORDER BY priority DESC, id LIMIT q.room FOR UPDATE SKIP LOCKED) j)
    UPDATE _sampan_jobs j SET state = 'running', attempt = attempt + 1, token = token + 1, holder = ?::text,
      lease = ",
    now_millis!(),
    " + ?::bigint, started = ",
    now_millis!(),
    " WHERE j.id = ANY(ARRAY(SELECT id FROM found))
    RETURNING j.id, j.name, j.queue, CASE WHEN octet_length(j.args) <= ?::integer THEN j.args END, j.attempt, j.token,
      j.priority, j.trace"
);

/// Extends leases. Gives the jobs that this process still has.
pub(super) const EXTEND: &str = concat!(
    "WITH held AS (SELECT * FROM unnest(?::bigint[], ?::bigint[]) AS t(id, token)),
    mine AS MATERIALIZED (
      SELECT j.id FROM held t JOIN _sampan_jobs j ON j.id = t.id AND j.token = t.token
      WHERE j.state = 'running' ORDER BY j.id FOR UPDATE OF j SKIP LOCKED),
    extended AS (UPDATE _sampan_jobs j SET lease = ",
    now_millis!(),
    " + ?::bigint FROM mine WHERE j.id = mine.id)
    SELECT j.id FROM held t JOIN _sampan_jobs j ON j.id = t.id AND j.token = t.token WHERE j.state = 'running'"
);

/// Takes jobs away whose lease has ended: their token is another from now on. This process ends their attempts as
/// failed, under a lease of its own. Those of names that it does not declare are left to others for a while.
pub(super) const RECLAIM: &str = concat!(
    "WITH expired AS MATERIALIZED (
      SELECT id FROM _sampan_jobs WHERE state = 'running' AND lease < ",
    now_millis!(),
    " AND (name = ANY(?::text[]) OR lease < ",
    now_millis!(),
    " - ?::bigint) ORDER BY lease LIMIT ?::bigint FOR UPDATE SKIP LOCKED)
    UPDATE _sampan_jobs j SET token = token + 1, holder = ?::text, lease = ",
    now_millis!(),
    " + ?::bigint WHERE j.id = ANY(ARRAY(SELECT id FROM expired))
    RETURNING j.id, j.name, j.queue, j.attempt, j.token"
);

/// Has leases end that were given by a clock that was ahead: none is longer than the longest.
pub(super) const SHORTEN: &str = concat!(
    "WITH longer AS MATERIALIZED (
      SELECT id FROM _sampan_jobs WHERE state = 'running' AND lease > ",
    now_millis!(),
    " + ?::bigint FOR UPDATE SKIP LOCKED)
    UPDATE _sampan_jobs j SET lease = ",
    now_millis!(),
    " + ?::bigint WHERE j.id = ANY(ARRAY(SELECT id FROM longer))"
);

/// Gives back jobs that were taken and not begun, without using up an attempt.
pub(super) const GIVE_BACK: &str =
    "UPDATE _sampan_jobs j SET state = 'ready', attempt = attempt - 1, lease = NULL, holder = NULL
    FROM unnest(?::bigint[], ?::bigint[]) AS t(id, token)
    WHERE j.id = t.id AND j.token = t.token AND j.state = 'running'";

/// Gives back jobs of this process that it does not know of: the answer to the statement that took them was lost.
pub(super) const GIVE_BACK_UNKNOWN: &str = concat!(
    "WITH strays AS MATERIALIZED (
      SELECT id FROM _sampan_jobs WHERE state = 'running' AND holder = ?::text AND id <> ALL(?::bigint[])
        AND started >= ",
    now_millis!(),
    " - ?::bigint FOR UPDATE SKIP LOCKED)
    UPDATE _sampan_jobs j SET state = 'ready', attempt = attempt - 1, token = token + 1, lease = NULL, holder = NULL
    WHERE j.id = ANY(ARRAY(SELECT id FROM strays))"
);

/// Writes how far jobs are.
pub(super) const PROGRESS: &str =
    "UPDATE _sampan_jobs j SET progress = t.progress, progress_text = t.text
    FROM unnest(?::bigint[], ?::bigint[], ?::double precision[], ?::text[]) AS t(id, token, progress, text)
    WHERE j.id = t.id AND j.token = t.token AND j.state = 'running'";

/// Removes jobs that ended in a state, some milliseconds ago.
pub(super) const PRUNE: &str = concat!(
    "DELETE FROM _sampan_jobs WHERE id = ANY(ARRAY(
      SELECT id FROM _sampan_jobs WHERE ended IS NOT NULL AND state = ?::text AND ended < ",
    now_millis!(),
    " - ?::bigint LIMIT ?::bigint FOR UPDATE SKIP LOCKED))"
);

/// Moves jobs from queues that no declaration of this process names to the queue with which their name is declared.
/// Steps from one queue to the next by the index, and reads those that nothing declares. No index has the names, since
/// such queues are rare.
///
/// Parameters: the names and their queues, and the most jobs of a queue to move.
pub(super) const MOVE_STRAYS: &str = "WITH RECURSIVE queues(name) AS (
      SELECT min(queue) FROM _sampan_jobs WHERE state = 'ready'
      UNION ALL SELECT (SELECT min(queue) FROM _sampan_jobs WHERE state = 'ready' AND queue > queues.name)
        FROM queues WHERE queues.name IS NOT NULL),
    strays AS MATERIALIZED (
      SELECT j.id FROM queues q CROSS JOIN LATERAL (
        SELECT id FROM _sampan_jobs WHERE state = 'ready' AND queue = q.name AND name = ANY($1::text[])
        ORDER BY priority DESC, id LIMIT $3::bigint FOR UPDATE SKIP LOCKED) j
      WHERE q.name <> ALL($2::text[]))
    UPDATE _sampan_jobs j SET queue = d.queue FROM unnest($1::text[], $2::text[]) AS d(name, queue)
    WHERE d.name = j.name AND j.id = ANY(ARRAY(SELECT id FROM strays))";

/// The arguments of a job, unless it was taken anew since.
pub(crate) const ARGS: &str =
    "SELECT args FROM _sampan_jobs WHERE id = ?::bigint AND token = ?::bigint";

/// Jobs that have not ended, by their numbers. The lease of one that runs stays: see `RETRY`.
pub(super) const CANCEL: &str = concat!(
    "WITH found AS MATERIALIZED (
      SELECT id, batch FROM _sampan_jobs
      WHERE id = ANY(?::bigint[]) AND state IN ('ready', 'scheduled', 'running') ORDER BY id FOR UPDATE),
    cancelled AS (
      UPDATE _sampan_jobs j SET state = 'cancelled', ended = ",
    now_millis!(),
    ", holder = NULL, token = token + 1, unique_key = ",
    ended_key!(),
    "
      FROM found WHERE j.id = found.id RETURNING found.batch),
    counted AS (
      UPDATE _sampan_job_batches b SET remaining = b.remaining - c.jobs, cancelled = b.cancelled + c.jobs
      FROM (SELECT batch, count(*) AS jobs FROM cancelled WHERE batch IS NOT NULL GROUP BY batch) c
      WHERE b.id = c.batch)
    SELECT count(*) FROM cancelled"
);
