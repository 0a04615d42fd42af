//! The routes that run in the slow lane: by their declaration, or by what was measured on any worker.
//!
//! Long runs move a route, for all workers at once ([`LongRunWindow`]). It moves back after many quick runs in a
//! row, and after twice as many each time that it has to move again. So a route that is slow now and then stays. A
//! route whose file has changed is measured anew.

use super::long_runs::LongRunWindow;
use super::moves::LaneMoves;
use super::names::RouteNames;
use crate::lane::source_mark::SourceMark;
use sampan_host::LaneRule;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of quick runs in a row after which a route moves back for the first time.
const QUICK_RUNS_MIN: u32 = 100;

/// The number of times that this number doubles.
const DOUBLINGS_MAX: u32 = 10;

/// The lane of one route, which all workers share.
#[derive(Debug)]
pub struct RouteLane {
    number: u32,
    /// The rule of the newest declaration, see [`rule_number`].
    rule: AtomicU8,
    /// The mark of the file with the newest declaration.
    mark: AtomicU64,
    /// True if its requests go to the slow lane.
    is_apart: AtomicBool,
    /// The quick runs in a row since it went there.
    quick_runs: AtomicU32,
    /// The number of times that it went there because of long runs.
    moves: AtomicU32,
    long_runs: Mutex<LongRunWindow>,
}

/// A route that was measured slow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Learned {
    /// Its method and pattern.
    pub name: String,
    /// The mark of the file that declared it.
    pub mark: SourceMark,
    /// The number of times that it has moved to the slow lane.
    pub moves: u32,
}

fn rule_number(rule: LaneRule) -> u8 {
    match rule {
        LaneRule::Measured => 0,
        LaneRule::Slow => 1,
        LaneRule::Quick => 2,
    }
}

impl RouteLane {
    /// Creates the lane of a route that no project has declared.
    fn new(number: u32) -> Self {
        Self {
            number,
            rule: AtomicU8::new(rule_number(LaneRule::Measured)),
            mark: AtomicU64::new(SourceMark::UNKNOWN.0),
            is_apart: AtomicBool::new(false),
            quick_runs: AtomicU32::new(0),
            moves: AtomicU32::new(0),
            long_runs: Mutex::default(),
        }
    }

    /// The number by which the watchdog knows it; never 0.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Reports whether its requests go to the slow lane.
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.is_apart.load(Relaxed)
    }

    fn is_measured(&self) -> bool {
        self.rule.load(Relaxed) == rule_number(LaneRule::Measured)
    }

    fn source_mark(&self) -> SourceMark {
        SourceMark(self.mark.load(Relaxed))
    }

    /// Takes over a new declaration. Measurements of another source do not count for it.
    fn declare(&self, rule: LaneRule, mark: SourceMark) {
        let before = SourceMark(self.mark.swap(mark.0, Relaxed));
        if !before.agrees_with(mark) {
            self.rule.store(rule_number(rule), Relaxed);
            self.is_apart.store(rule == LaneRule::Slow, Relaxed);
            self.quick_runs.store(0, Relaxed);
            self.moves.store(0, Relaxed);
        } else if self.rule.swap(rule_number(rule), Relaxed) != rule_number(rule) {
            self.is_apart.store(rule == LaneRule::Slow, Relaxed);
            self.quick_runs.store(0, Relaxed);
        }
    }

    /// Takes over that an earlier process has moved it so many times.
    fn moved_before(&self, moves: u32) {
        self.moves.store(moves, Relaxed);
        if self.is_measured() {
            self.is_apart.store(moves > 0, Relaxed);
        }
    }

    /// Takes note of a run that is long for a worker with other requests. Returns true if the route moves because of
    /// it.
    fn note_long(&self, used: Duration, slow_time: Duration, now: Instant) -> bool {
        let is_slow = {
            let long_runs = self.long_runs.lock();
            let mut long_runs = long_runs.unwrap_or_else(PoisonError::into_inner);
            long_runs.note(used, slow_time, now)
        };
        is_slow && self.mark()
    }

    /// Moves the route, which is slow. Returns false if it has moved already, or its rule says otherwise.
    fn mark(&self) -> bool {
        self.quick_runs.store(0, Relaxed);
        if !self.is_measured() || self.is_apart.swap(true, Relaxed) {
            return false;
        }
        self.moves.fetch_add(1, Relaxed);
        true
    }

    /// The number of quick runs in a row after which it moves back.
    fn quick_runs_min(&self) -> u32 {
        let moves = self.moves.load(Relaxed).saturating_sub(1);
        QUICK_RUNS_MIN << moves.min(DOUBLINGS_MAX)
    }

    /// Takes note of a run in the slow lane. Returns true if the route moves back because of it.
    fn note(&self, longest: Duration, slow_time: Duration) -> bool {
        if !self.is_measured() {
            return false;
        }
        if longest >= slow_time / 2 {
            self.quick_runs.store(0, Relaxed);
            return false;
        }
        let quick = self.quick_runs.fetch_add(1, Relaxed) + 1;
        if quick < self.quick_runs_min() || !self.is_apart.swap(false, Relaxed) {
            return false;
        }
        self.quick_runs.store(0, Relaxed);
        true
    }
}

/// The routes of a server, as its workers share them.
#[derive(Debug)]
pub struct LaneRoutes {
    /// The time of a run from which on its route is slow.
    slow_time: Duration,
    known: Mutex<Known>,
    names: Arc<RouteNames>,
    moves: LaneMoves,
}

#[derive(Debug, Default)]
struct Known {
    by_name: HashMap<String, Arc<RouteLane>>,
    /// By their numbers, of which the first is 1.
    all: Vec<Arc<RouteLane>>,
    /// The routes among them that [`LaneRoutes::route_within`] has made.
    counted: usize,
    /// Routes of an earlier process that have not been declared yet.
    learned: HashMap<String, Learned>,
}

impl LaneRoutes {
    /// Creates the routes of a server that begins with what an earlier one has learned.
    pub fn new(slow_time: Duration, learned: Vec<Learned>) -> Self {
        let learned = learned.into_iter();
        Self {
            slow_time,
            known: Mutex::new(Known {
                learned: learned.map(|one| (one.name.clone(), one)).collect(),
                ..Known::default()
            }),
            names: Arc::new(RouteNames::new()),
            moves: LaneMoves::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of a run from which on its route is slow.
    pub fn slow_time(&self) -> Duration {
        self.slow_time
    }

    /// Returns the lane of a route by its method and pattern. One that is new is declared once its project is served.
    pub(crate) fn route(&self, name: &str) -> Arc<RouteLane> {
        self.route_in(&mut self.known(), name)
    }

    /// Returns a lane by its name; `None` where it would be new, and there are so many that were asked for here.
    pub(crate) fn route_within(&self, name: &str, count_max: usize) -> Option<Arc<RouteLane>> {
        let mut known = self.known();
        if !known.by_name.contains_key(name) {
            if known.counted >= count_max {
                return None;
            }
            known.counted += 1;
        }
        Some(self.route_in(&mut known, name))
    }

    fn route_in(&self, known: &mut Known, name: &str) -> Arc<RouteLane> {
        if let Some(route) = known.by_name.get(name) {
            return Arc::clone(route);
        }
        let number = u32::try_from(known.all.len() + 1).unwrap_or(u32::MAX);
        self.names.set(number, name);
        let route = Arc::new(RouteLane::new(number));
        known.all.push(Arc::clone(&route));
        known.by_name.insert(name.to_owned(), Arc::clone(&route));
        route
    }

    /// Takes note of the rule of a route that is served, and of the file with its declaration.
    pub(crate) fn declare(&self, name: &str, rule: LaneRule, mark: SourceMark) -> Arc<RouteLane> {
        let route = self.route(name);
        let learned = self.known().learned.remove(name);
        route.declare(rule, mark);
        if let Some(learned) = learned.filter(|learned| learned.mark.agrees_with(mark)) {
            route.moved_before(learned.moves);
        }
        route
    }

    /// Takes note of a run of the route with this number that has had the processor for `used`, or will. Returns true
    /// if the route moves because of it.
    pub fn note_long(&self, number: u32, used: Duration) -> bool {
        if used < self.slow_time {
            return false;
        }
        let at = (number as usize).checked_sub(1);
        let route = at.and_then(|at| self.known().all.get(at).cloned());
        let has_moved =
            route.is_some_and(|route| route.note_long(used, self.slow_time, Instant::now()));
        if has_moved {
            self.moves.to_slow.fetch_add(1, Relaxed);
        }
        has_moved
    }

    /// Takes note of the runs of a request in the slow lane, by the longest. Returns true if the route moves back.
    pub(crate) fn note(&self, route: &RouteLane, longest: Duration) -> bool {
        let has_moved = route.note(longest, self.slow_time);
        if has_moved {
            self.moves.to_quick.fetch_add(1, Relaxed);
        }
        has_moved
    }

    /// The names of the routes.
    pub fn names(&self) -> &Arc<RouteNames> {
        &self.names
    }

    /// The numbers of routes that have moved.
    pub fn moves(&self) -> &LaneMoves {
        &self.moves
    }

    /// Reports whether any route runs in the slow lane.
    pub fn has_slow(&self) -> bool {
        self.known().all.iter().any(|route| route.is_apart())
    }

    /// Returns the routes that were measured slow and have not become quick, sorted.
    pub fn learned(&self) -> Vec<Learned> {
        let known = self.known();
        let measured = known.by_name.iter();
        let measured = measured.filter(|(_, route)| route.is_measured() && route.is_apart());
        let measured = measured.map(|(name, route)| Learned {
            name: name.clone(),
            mark: route.source_mark(),
            moves: route.moves.load(Relaxed),
        });
        let mut learned: Vec<Learned> = measured.collect();
        learned.sort();
        learned
    }
}

#[cfg(test)]
mod tests;
