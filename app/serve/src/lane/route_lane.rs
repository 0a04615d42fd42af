//! Which routes run in the slow lane: by their declaration, or by what was measured on any worker.
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
    fn new(number: u32, rule: LaneRule, mark: SourceMark, moves: u32) -> Self {
        Self {
            number,
            rule: AtomicU8::new(rule_number(rule)),
            mark: AtomicU64::new(mark.0),
            is_apart: AtomicBool::new(match rule {
                LaneRule::Measured => moves > 0,
                LaneRule::Slow => true,
                LaneRule::Quick => false,
            }),
            quick_runs: AtomicU32::new(0),
            moves: AtomicU32::new(moves),
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

    /// Returns the lane of a route by its method and pattern, and takes note of its rule and of the file with its
    /// declaration.
    pub(crate) fn declare(&self, name: &str, rule: LaneRule, mark: SourceMark) -> Arc<RouteLane> {
        let known = &mut *self.known();
        if let Some(route) = known.by_name.get(name) {
            route.declare(rule, mark);
            return Arc::clone(route);
        }
        let learned = known.learned.remove(name);
        let learned = learned.filter(|learned| learned.mark.agrees_with(mark));
        let moves = learned.map_or(0, |learned| learned.moves);
        let number = u32::try_from(known.all.len() + 1).unwrap_or(u32::MAX);
        self.names.set(number, name);
        let route = Arc::new(RouteLane::new(number, rule, mark, moves));
        known.all.push(Arc::clone(&route));
        known.by_name.insert(name.to_owned(), Arc::clone(&route));
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
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(2);
    const QUICK: Duration = Duration::from_micros(100);
    const LONG: Duration = Duration::from_millis(10);

    const MARK: SourceMark = SourceMark(7);
    const OTHER: SourceMark = SourceMark(8);

    fn learned(name: &str, moves: u32) -> Learned {
        Learned {
            name: name.to_owned(),
            mark: MARK,
            moves,
        }
    }

    fn routes() -> LaneRoutes {
        LaneRoutes::new(SLOW, Vec::new())
    }

    /// The number of quick runs until it moves back.
    fn runs_until_back(route: &RouteLane) -> u32 {
        let mut runs = 1;
        while !route.note(QUICK, SLOW) {
            runs += 1;
        }
        runs
    }

    #[test]
    fn one_long_run_moves_a_route_and_many_quick_ones_move_it_back() {
        let routes = routes();
        let route = routes.declare("GET /a", LaneRule::Measured, MARK);
        let other = routes.declare("GET /b", LaneRule::Measured, MARK);
        assert!(!routes.has_slow());
        let name = |number| routes.names().get(number);
        assert_eq!(name(route.number()), Some("GET /a"));
        assert_eq!((name(0), name(3), name(u32::MAX)), (None, None, None));
        assert!(routes.note_long(route.number(), LONG));
        assert!(
            !routes.note_long(route.number(), LONG),
            "it has moved already"
        );
        assert!(route.is_apart() && !other.is_apart());
        assert_eq!(routes.learned(), [learned("GET /a", 1)]);
        assert_eq!(runs_until_back(&route), QUICK_RUNS_MIN);
        assert!(!route.is_apart() && routes.learned().is_empty());
        assert_eq!(routes.moves().counts(), (1, 0));
        assert!(routes.note_long(route.number(), LONG));
        assert_eq!(routes.moves().counts(), (2, 0));
        assert_eq!(
            runs_until_back(&route),
            2 * QUICK_RUNS_MIN,
            "not so soon again"
        );
    }

    #[test]
    fn a_route_that_is_slow_now_and_then_stays() {
        let route = routes().declare("GET /a", LaneRule::Measured, MARK);
        route.mark();
        for run in 0..10 * QUICK_RUNS_MIN {
            let longest = if run % 2 == 0 { QUICK } else { 50 * SLOW };
            assert!(!route.note(longest, SLOW));
        }
        // Between quick and slow nothing changes.
        for _ in 0..QUICK_RUNS_MIN * 2 {
            assert!(!route.note(SLOW / 2, SLOW));
        }
        assert!(route.is_apart());
    }

    #[test]
    fn a_declaration_has_the_last_word_and_may_change() {
        let routes = routes();
        let (slow, quick) = (
            routes.declare("GET /slow", LaneRule::Slow, MARK),
            routes.declare("GET /quick", LaneRule::Quick, MARK),
        );
        assert!(slow.is_apart() && !quick.is_apart());
        for _ in 0..2 * QUICK_RUNS_MIN {
            assert!(!slow.note(QUICK, SLOW));
        }
        assert!(!quick.mark() && !quick.is_apart() && slow.is_apart());
        assert!(routes.learned().is_empty(), "it is not measured");
        let same = routes.declare("GET /slow", LaneRule::Measured, MARK);
        assert!(Arc::ptr_eq(&slow, &same) && !slow.is_apart());
        routes.declare("GET /slow", LaneRule::Slow, MARK);
        assert!(slow.is_apart());
    }

    #[test]
    fn what_was_learned_holds_from_the_start() {
        let routes = LaneRoutes::new(SLOW, vec![learned("GET /a", 3), learned("GET /b", 1)]);
        assert!(!routes.has_slow(), "no route of that name is declared yet");
        let route = routes.declare("GET /a", LaneRule::Measured, MARK);
        assert!(route.is_apart());
        assert!(!routes.declare("GET /b", LaneRule::Quick, MARK).is_apart());
        assert_eq!(routes.learned(), [learned("GET /a", 3)]);
        assert_eq!(runs_until_back(&route), 4 * QUICK_RUNS_MIN);
    }

    #[test]
    fn a_route_of_another_source_is_measured_anew() {
        let kept = vec![learned("GET /a", 3), learned("GET /b", 3)];
        let routes = LaneRoutes::new(SLOW, kept);
        let route = routes.declare("GET /a", LaneRule::Measured, OTHER);
        assert!(!route.is_apart() && routes.learned().is_empty());
        // Of a source that cannot be read nothing else is known.
        let unread = routes.declare("GET /b", LaneRule::Measured, SourceMark::UNKNOWN);
        assert!(unread.is_apart());
        assert!(routes.note_long(route.number(), LONG));
        routes.declare("GET /a", LaneRule::Measured, OTHER);
        assert!(route.is_apart(), "each worker declares it");
        routes.declare("GET /a", LaneRule::Measured, MARK);
        assert!(!route.is_apart(), "a reload with another text");
        assert!(routes.note_long(route.number(), LONG));
        assert_eq!(runs_until_back(&route), QUICK_RUNS_MIN);
    }
}
