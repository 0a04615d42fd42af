//! The moments at which a worker that ends lets go of what lasts: connections of HTTP/2, and sockets over either
//! protocol. They are spread over a time, so that the clients do not all come back to another server at once.

use std::cell::Cell;

use super::deadlines::NEVER;

/// So many connections make no crowd: they are let go of one shortly after the other.
const FEW: u64 = 100;

/// The time between two of a few, in milliseconds.
const FEW_MILLIS: u64 = 10;

/// The moments of a worker's connections.
#[derive(Default)]
pub(super) struct Departures {
    plan: Cell<Option<DeparturePlan>>,
    /// Connections that have been given their moments.
    given: Cell<u64>,
}

#[derive(Clone, Copy)]
struct DeparturePlan {
    from: u64,
    span_millis: u64,
    connections: u64,
}

impl Departures {
    /// Lets connections go from `now` on, over `span_millis`.
    pub(super) fn begin(&self, now: u64, span_millis: u64, connections: usize) {
        let connections = (connections as u64).max(1);
        let span_millis = match connections {
            ..FEW => span_millis.min(connections * FEW_MILLIS),
            _ => span_millis,
        };
        self.plan.set(Some(DeparturePlan {
            from: now,
            span_millis,
            connections,
        }));
    }

    /// Reports whether it has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.plan.get().is_some()
    }

    /// Lets all connections go that are left.
    pub(super) fn hurry(&self) {
        self.begin(0, 0, 1);
    }

    /// Returns the moment of the next connection.
    fn next(&self, plan: DeparturePlan) -> u64 {
        let place = self.given.get();
        self.given.set(place + 1);
        // Connections that came later go with the last.
        let place = place.min(plan.connections);
        let part = u128::from(plan.span_millis) * u128::from(place) / u128::from(plan.connections);
        plan.from + part as u64
    }
}

/// The moment of one connection.
#[derive(Default)]
pub(super) struct Departure(Cell<Option<u64>>);

impl Departure {
    /// Returns the moment; never, while the worker goes on.
    pub(super) fn at(&self, departures: &Departures) -> u64 {
        let Some(plan) = departures.plan.get() else {
            return NEVER;
        };
        let at = self.0.get().unwrap_or_else(|| departures.next(plan));
        self.0.set(Some(at));
        // The last ones may have been asked to hurry since.
        at.min(plan.from + plan.span_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(departures: &Departures, connections: usize) -> Vec<u64> {
        let one = |_| Departure::default().at(departures);
        (0..connections).map(one).collect()
    }

    #[test]
    fn a_crowd_is_spread_evenly_and_a_few_are_not_kept_waiting() {
        let departures = Departures::default();
        assert_eq!(moments(&departures, 1), [NEVER]);
        departures.begin(1000, 5000, 10_000);
        let crowd = moments(&departures, 10_001);
        for place in [0, 1, 2, 5000, 9999, 10_000] {
            assert_eq!(crowd[place], 1000 + place as u64 / 2, "{place}");
        }
        let departures = Departures::default();
        departures.begin(1000, 5000, 3);
        assert_eq!(moments(&departures, 4), [1000, 1010, 1020, 1030]);
    }

    #[test]
    fn a_connection_keeps_its_moment_unless_all_hurry() {
        let departures = Departures::default();
        let last = Departure::default();
        assert_eq!(last.at(&departures), NEVER);
        departures.begin(1000, 5000, 1000);
        moments(&departures, 999);
        assert_eq!((last.at(&departures), last.at(&departures)), (5995, 5995));
        departures.hurry();
        assert_eq!(last.at(&departures), 0);
    }
}
