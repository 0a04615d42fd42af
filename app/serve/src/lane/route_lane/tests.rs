//! Tests of lanes: declarations, measurements, and what was learned before.

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

#[test]
fn a_source_that_is_not_served_changes_nothing() {
    let routes = LaneRoutes::new(SLOW, vec![learned("GET /b", 3)]);
    let route = routes.declare("GET /a", LaneRule::Measured, MARK);
    assert!(routes.note_long(route.number(), LONG));
    // It is loaded, and refused before it is served.
    let same = routes.route("GET /a");
    assert!(Arc::ptr_eq(&route, &same));
    let new = routes.route("GET /b");
    assert!(!new.is_apart());
    assert_eq!(routes.learned(), [learned("GET /a", 1)]);
    routes.declare("GET /b", LaneRule::Measured, MARK);
    assert!(new.is_apart(), "what was learned is still known");
}
