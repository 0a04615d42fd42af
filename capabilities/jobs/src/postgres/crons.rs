//! Crons on a server: each time of a schedule adds one job, over all processes.
//!
//! A process computes the next time, and stores it if no other has done so since it read the last one. A row for each
//! time that ran is unique: so two schedules of one cron, in two versions of an app, do not both run for a time that
//! both have.

use super::columns::{clock_millis, no_tables, now_millis, set_time};
use crate::crons::{CRON_PREFIX, CronRules, Crons};
use crate::limits::{FORGOTTEN_MILLIS, MISSED_MILLIS};
use crate::schedule::Schedule;
use crate::table::{int, text};
use sampan_host::database::WaitingTables;
use sampan_host::jobs::JobPolicy;
use sampan_host::{Error, Value};

const STORED: &str = concat!(
    "SELECT ",
    clock_millis!(),
    ", n.name, c.next FROM unnest(?::text[], ?::text[], ?::text[]) AS n(name, pattern, zone)
    LEFT JOIN _sampan_cron_times c ON c.name = n.name AND c.pattern = n.pattern AND c.zone = n.zone"
);

/// Stores the next time of a schedule, and adds the job of the time that is due. A run that makes up for missed ones is
/// not added where the cron has run since, under another schedule.
const MOVE: &str = concat!(
    "WITH moved AS (
      INSERT INTO _sampan_cron_times AS c (name, pattern, zone, next)
      VALUES (?::text, ?::text, ?::text, ?::bigint)
      ON CONFLICT (name, pattern, zone) DO UPDATE SET next = excluded.next WHERE c.next = ?::bigint
      RETURNING c.name),
    ran AS (
      INSERT INTO _sampan_cron_runs(name, due) SELECT moved.name, d.due FROM moved, (SELECT ?::bigint AS due) d
      WHERE d.due IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM _sampan_cron_runs r WHERE ?::boolean AND r.name = moved.name AND r.due >= d.due AND r.due <= ",
    clock_millis!(),
    ") ON CONFLICT DO NOTHING RETURNING due)
    INSERT INTO _sampan_jobs(name, queue, args, state, priority, due, added, unique_key)
    SELECT ?::text, ?::text, format('{\"due\":%s}', ran.due / 1000), 'ready', 0, ",
    now_millis!(),
    ", ",
    now_millis!(),
    ", ?::text FROM ran ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING"
);

const FORGET_TIMES: &str = concat!(
    "DELETE FROM _sampan_cron_times WHERE name = ?::text AND next < ",
    clock_millis!(),
    " - ?::bigint"
);
/// The last time of each schedule says what was missed, so older runs are not needed.
const FORGET_RUNS: &str = concat!(
    "DELETE FROM _sampan_cron_runs WHERE name = ?::text AND due < ",
    clock_millis!(),
    " - ?::bigint AND due < (SELECT min(next) FROM _sampan_cron_times WHERE name = ?::text)"
);

impl Crons {
    /// Adds the jobs that are due by the server's clock. `now` is about what that shows. `policy` gives the rules for
    /// the jobs of a name. Returns the server's clock.
    pub(super) async fn run_waiting(
        &mut self,
        tables: &dyn WaitingTables,
        rules: &CronRules,
        policy: impl Fn(&str) -> Option<JobPolicy>,
        now: i64,
    ) -> Result<Option<i64>, Error> {
        self.keep_only(rules);
        let due: Vec<_> = rules
            .iter()
            .filter(|(name, rule)| self.next_of(name, rule).is_none_or(|next| next <= now))
            .collect();
        let column = |read: &dyn Fn(&str, &Schedule) -> String| {
            let all = due.iter().map(|(name, rule)| read(name, &rule.schedule));
            Value::List(all.map(Value::Text).collect())
        };
        let params = Value::List(vec![
            set_time(),
            column(&|name, _| name.to_owned()),
            column(&|_, schedule| schedule.pattern.clone()),
            column(&|_, schedule| schedule.zone.clone()),
        ]);
        let stored = tables
            .run(STORED, &params)
            .await?
            .ok_or_else(no_tables)?
            .rows;
        let mut now = None;
        for at in 0..stored.len() {
            let found = text(stored.cell(at, 1));
            let clock = int(stored.cell(at, 0));
            now = Some(clock);
            let Some((name, rule)) = rules.get_key_value(&found) else {
                continue;
            };
            let schedule = &rule.schedule;
            let seen = crate::table::maybe_int(stored.cell(at, 2));
            let next = match seen {
                // Another process has run it, or runs it later.
                Some(next) if next > clock && !schedule.is_set_back(next, clock) => next,
                seen => {
                    let due = seen.filter(|due| *due <= clock);
                    let due = due.filter(|due| rule.makes_up || clock - due <= MISSED_MILLIS);
                    let is_late = due.is_some_and(|due| clock - due > MISSED_MILLIS);
                    let next = schedule.next(clock).unwrap_or(i64::MAX);
                    let job = format!("{CRON_PREFIX}{name}");
                    let queue = policy(&job).map_or_else(String::new, |policy| policy.queue);
                    let params = Value::List(vec![
                        name.as_str().into(),
                        schedule.pattern.as_str().into(),
                        schedule.zone.as_str().into(),
                        Value::Int(next),
                        seen.map_or(Value::Null, Value::Int),
                        due.map_or(Value::Null, Value::Int),
                        Value::Bool(is_late),
                        set_time(),
                        job.as_str().into(),
                        queue.into(),
                        job.as_str().into(),
                    ]);
                    let name = || Value::from(name.as_str());
                    let age = Value::Int(FORGOTTEN_MILLIS);
                    let moved = tables.run_all(vec![
                        (MOVE.to_owned(), params),
                        (
                            FORGET_TIMES.to_owned(),
                            Value::List(vec![name(), set_time(), age.clone()]),
                        ),
                        (
                            FORGET_RUNS.to_owned(),
                            Value::List(vec![name(), set_time(), age, name()]),
                        ),
                    ]);
                    moved.await?.ok_or_else(no_tables)?;
                    next
                }
            };
            self.set_next(name, rule, next);
        }
        Ok(now)
    }
}
