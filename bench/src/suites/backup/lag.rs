//! The age of what is not copied yet, as the server tells it, under a thousand writes per second.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{BackupBench, CopiedServer, PAUSE};
use crate::load::{LoadResult, load_at};
use crate::measure::case::LoadCase;
use crate::measure::figures::Figure;
use crate::peers::placement::Placement;
use crate::peers::storage::Durability;
use crate::peers::{LUA_COPIED, Peer};
use crate::routes::{Headers, Route, check};

/// The name of the measurement.
pub(super) const LAG: &str = "sampan_backup_lag_seconds";
/// The writes per second.
pub(super) const RATE: u32 = 1_000;
/// The least time of writing, in seconds.
const SECONDS_MIN: u32 = 5;
const SECONDS_MAX: f64 = 2.0;
/// The least part of the writes that must be made for the figure to tell something.
const SHARE_MIN: f64 = 0.9;

impl BackupBench<'_> {
    /// The greatest lag.
    pub(super) fn lag(&self) -> Result<Figure, String> {
        let placement = Placement::here(1);
        let peer = Peer::named(LUA_COPIED).ok_or("no such peer")?;
        let copied = self.start_copied(peer, &placement, self.storage(Durability::Normal)?)?;
        check::check(copied.server.address(), Route::Write)?;
        let seconds = (self.options.shared.seconds * self.options.shared.rounds).max(SECONDS_MIN);
        let (seen, lag) = self.write_at_rate(&copied, &placement, seconds)?;
        copied.end()?;
        Ok(Figure {
            what: format!("greatest lag of the copy under {RATE} writes/s, {seconds} s"),
            value: format!("{lag:.2} s at {:.0} writes/s", seen.per_second),
            wanted: format!("at most {SECONDS_MAX} s"),
            reached: Some(lag <= SECONDS_MAX),
        })
    }

    /// Writes at the rate, each write a commit of its own. Returns the greatest lag meanwhile too.
    ///
    /// # Errors
    ///
    /// When the rate cannot be reached.
    pub(super) fn write_at_rate(
        &self,
        copied: &CopiedServer,
        placement: &Placement,
        seconds: u32,
    ) -> Result<(LoadResult, f64), String> {
        let case = LoadCase {
            // On more than one, commits would be grouped.
            connections: 1,
            durability: Some(Durability::Normal),
            ..LoadCase::plain(Route::Write, Headers::Plain, 1)
        };
        let (root, address) = (&self.setup.root, copied.server.address());
        let is_over = AtomicBool::new(false);
        let (seen, lags) = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut greatest: f64 = 0.0;
                while !is_over.load(Ordering::Relaxed) {
                    greatest = greatest.max(copied.metric(LAG)?);
                    std::thread::sleep(PAUSE);
                }
                Ok::<f64, String>(greatest)
            });
            let seen = load_at(root, placement, address, case, seconds, Some(RATE));
            is_over.store(true, Ordering::Relaxed);
            (seen, watch.join())
        });
        let (seen, lag) = (seen?, lags.map_err(|_| "a thread panicked")??);
        if seen.per_second < SHARE_MIN * f64::from(RATE) {
            return Err(format!(
                "{:.0} writes/s where {RATE} were wanted",
                seen.per_second
            ));
        }
        Ok((seen, lag))
    }
}
