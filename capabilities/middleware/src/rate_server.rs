//! The counters of rate limits that all processes on one database server share.
//!
//! The window slides as in the table of the process, by the clock of the server. One statement counts a request if the
//! limit allows it. A key that was refused is refused here until it has room: a flood does not reach the server.

use crate::limits::{RATE_CLEAN_COUNT, RATE_CLEAN_EVERY, RATE_REFUSED_MAX};
use crate::rate_table::{Rate, RateTable, Taken, Window};
use sampan_host::database::{OwnTable, TableResult, WaitingTables};
use sampan_host::{Cell as TableCell, Error, ErrorKind, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The table, and the statements that make it, one process after the other. The counts are no loss after a crash of the
/// server.
pub(crate) const SERVER_TABLES: OwnTable = OwnTable {
    name: "_sampan_rates",
    column: None,
    statements: &[
    "SELECT pg_advisory_xact_lock(4690643046570595450)",
    "CREATE UNLOGGED TABLE IF NOT EXISTS _sampan_rates(
       key bytea PRIMARY KEY, slot bigint NOT NULL, previous bigint NOT NULL, counted bigint NOT NULL,
       seen bigint NOT NULL, ends bigint NOT NULL
     )",
    "CREATE INDEX IF NOT EXISTS _sampan_rates_ends ON _sampan_rates(ends)",
    ],
};

/// Counts a request of the key `$1`, of which the limit allows `$3` in `$2` milliseconds. Gives nothing where it is
/// refused. Another connection may have read the clock later and come first.
const COUNT: &str = "
INSERT INTO _sampan_rates AS r (key, slot, previous, counted, seen, ends)
SELECT CAST($1 AS bytea), ms / CAST($2 AS bigint), 0, 1, ms, (ms / $2 + 2) * $2
FROM (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS ms) AS clock
ON CONFLICT (key) DO UPDATE SET
    previous = CASE WHEN excluded.slot <= r.slot THEN r.previous
        WHEN excluded.slot = r.slot + 1 THEN r.counted ELSE 0 END,
    counted = CASE WHEN excluded.slot <= r.slot THEN r.counted ELSE 0 END + 1,
    slot = greatest(excluded.slot, r.slot), seen = greatest(excluded.seen, r.seen),
    ends = greatest(excluded.ends, r.ends)
WHERE CASE WHEN excluded.slot <= r.slot THEN r.previous
        WHEN excluded.slot = r.slot + 1 THEN r.counted ELSE 0 END
    * ((greatest(excluded.slot, r.slot) + 1) * $2 - greatest(excluded.seen, r.seen)) / $2
    + CASE WHEN excluded.slot <= r.slot THEN r.counted ELSE 0 END < CAST($3 AS bigint)
RETURNING previous, counted, slot, seen";

/// The counts of the key `$1`, and the time.
const READ: &str = "
SELECT previous, counted, slot, greatest(seen, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint))
FROM _sampan_rates WHERE key = $1";

/// Removes counts that mean nothing any more, `$1` at most.
const CLEAN: &str = "
DELETE FROM _sampan_rates WHERE key IN (
    SELECT key FROM _sampan_rates WHERE ends < extract(epoch FROM clock_timestamp()) * 1000
    ORDER BY ends LIMIT $1 FOR UPDATE SKIP LOCKED)";

/// The number of times that a request is counted again because the window has turned meanwhile.
const RERUNS_MAX: usize = 3;

/// A hash of what is counted together.
pub(crate) type RateKey = [u8; 32];

/// The shared counts as one isolate sees them.
pub(crate) struct ServerRates {
    tables: Rc<dyn WaitingTables>,
    /// The table of the process, which tells that all counts were forgotten.
    process: Arc<RateTable>,
    /// The number of times that they were, when `refused` was last looked at.
    clears: Cell<u64>,
    /// The keys that were refused, and when they have room again.
    refused: RefCell<HashMap<RateKey, Instant>>,
    /// Requests since the table was cleaned from here.
    counted: Cell<u32>,
}

impl ServerRates {
    pub(crate) fn new(tables: Rc<dyn WaitingTables>, process: Arc<RateTable>) -> Self {
        Self {
            tables,
            clears: Cell::new(process.clears()),
            process,
            refused: RefCell::default(),
            counted: Cell::new(0),
        }
    }

    /// Returns the result for a request of a key that was refused and still has no room.
    pub(crate) fn refused(&self, key: &RateKey) -> Option<Taken> {
        let clears = self.process.clears();
        if self.clears.replace(clears) != clears {
            self.refused.borrow_mut().clear();
        }
        let left = self
            .refused
            .borrow()
            .get(key)?
            .checked_duration_since(Instant::now());
        let Some(left) = left.filter(|left| !left.is_zero()) else {
            self.refused.borrow_mut().remove(key);
            return None;
        };
        Some(Taken {
            is_allowed: false,
            remaining: 0,
            reset_seconds: u32::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u32::MAX),
        })
    }

    /// Counts a request of a key, if the limit allows it.
    ///
    /// # Errors
    /// Those of the server.
    pub(crate) async fn take(&self, rate: Rate, key: RateKey) -> Result<Taken, Error> {
        self.clean().await?;
        for _ in 0..RERUNS_MAX {
            let counted = self.count(rate, key).await?;
            if let Some(window) = window(&counted, rate)? {
                // The request itself is among them.
                return Ok(window.allowed(window.free(rate)));
            }
            let key_of = Value::List(vec![Value::Bytes(key.to_vec())]);
            let found = self.tables.run(READ, &key_of).await?;
            let Some(window) = found.map_or(Ok(None), |found| window(&found, rate))? else {
                continue;
            };
            if window.free(rate) == 0 {
                let taken = window.refused(rate);
                self.note_refused(key, taken);
                return Ok(taken);
            }
        }
        let text = "the rate limit could not be counted: too many requests count at the same time";
        Err(Error::new(ErrorKind::Unavailable, text))
    }

    async fn count(&self, rate: Rate, key: RateKey) -> Result<TableResult, Error> {
        let params = Value::List(vec![
            Value::Bytes(key.to_vec()),
            Value::Int(i64::from(rate.seconds) * 1000),
            Value::Int(i64::from(rate.limit)),
        ]);
        if let Some(counted) = self.tables.run(COUNT, &params).await? {
            return Ok(counted);
        }
        let create = SERVER_TABLES.statements.iter();
        let create = create.map(|sql| ((*sql).to_owned(), Value::Null));
        self.tables.run_all(create.collect()).await?;
        let counted = self.tables.run(COUNT, &params).await?;
        counted.ok_or_else(|| {
            let text = "the table of rate limits could not be made";
            Error::new(ErrorKind::Internal, text)
        })
    }

    fn note_refused(&self, key: RateKey, taken: Taken) {
        let mut refused = self.refused.borrow_mut();
        if refused.len() >= RATE_REFUSED_MAX {
            refused.clear();
        }
        // A second less: the time was rounded up.
        let seconds = taken.reset_seconds.saturating_sub(1);
        let until = Instant::now() + Duration::from_secs(seconds.into());
        refused.insert(key, until);
    }

    /// Removes counts that mean nothing any more, once in a while: more than are added meanwhile.
    async fn clean(&self) -> Result<(), Error> {
        let counted = self.counted.get() + 1;
        self.counted.set(counted % RATE_CLEAN_EVERY);
        if counted < RATE_CLEAN_EVERY {
            return Ok(());
        }
        let count = Value::List(vec![Value::Int(RATE_CLEAN_COUNT)]);
        self.tables.run(CLEAN, &count).await.map(drop)
    }
}

/// Returns the counts of a row by now; `None` without one.
fn window(result: &TableResult, rate: Rate) -> Result<Option<Window>, Error> {
    let rows = &result.rows;
    if rows.is_empty() {
        return Ok(None);
    }
    let cells = [0, 1, 2, 3].map(|column| match rows.cell(0, column) {
        TableCell::Int(number) => u64::try_from(number).ok(),
        _ => None,
    });
    let [Some(previous), Some(counted), Some(slot), Some(now)] = cells else {
        let text = "the table _sampan_rates has other columns than those of rate limits";
        return Err(Error::new(ErrorKind::Internal, text));
    };
    let (current, passed) = (now / rate.millis(), now % rate.millis());
    let (before, counted) = match current.saturating_sub(slot) {
        0 => (previous, counted),
        1 => (counted, 0),
        _ => (0, 0),
    };
    Ok(Some(Window {
        before,
        now: counted,
        left: rate.millis() - passed,
    }))
}
