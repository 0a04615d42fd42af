//! The targets of `bench postgres`.

use super::{Full, RateAtLeast, RatioTarget, cost};
use crate::peers::{BUN_POSTGRES, GO_POSTGRES, JS_POSTGRES, LUA_POSTGRES, NODE_POSTGRES};
use crate::routes::{POSTGRES, Route};

/// The peers, and the most that a request of ours may cost beside theirs.
const PEERS: [(&str, f64); 3] = [
    (BUN_POSTGRES, 0.90),
    (GO_POSTGRES, 0.70),
    (NODE_POSTGRES, 0.40),
];

/// The routes whose requests per second count, and the least that ours must reach beside each peer.
const RATES: [(Route, f64); 3] = [(Route::Row, 1.2), (Route::Rows, 1.2), (Route::Write, 1.1)];

/// All rows: costs first.
pub(crate) fn postgres() -> Vec<RatioTarget> {
    let pairs = || {
        let ours = [LUA_POSTGRES, JS_POSTGRES].into_iter();
        ours.flat_map(|ours| PEERS.map(|(theirs, most)| (ours, theirs, most)))
    };
    let on_full = |row: RatioTarget| RatioTarget {
        durability: Some((Full, Full)),
        ..row
    };
    let costs = POSTGRES.iter().flat_map(|&route| {
        pairs().map(move |(ours, theirs, most)| on_full(cost(ours, theirs, route, most)))
    });
    let rates = RATES.iter().flat_map(|&(route, least)| {
        pairs().map(move |(ours, theirs, _)| {
            let row = on_full(cost(ours, theirs, route, 0.0));
            RatioTarget {
                limit: RateAtLeast(least),
                ..row
            }
        })
    });
    costs.chain(rates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::case::LoadCase;
    use crate::measure::tests::series;
    use crate::report::targets::judge;
    use crate::routes::Headers;

    #[test]
    fn costs_and_rates_are_compared_with_each_peer() {
        let case = LoadCase {
            durability: Some(Full),
            ..LoadCase::plain(Route::Write, Headers::Plain, 1)
        };
        let measured = [
            series(LUA_POSTGRES, case, &[8.0]),
            series(BUN_POSTGRES, case, &[10.0]),
            series(NODE_POSTGRES, case, &[10.0]),
        ];
        let rows = judge(&postgres(), &measured, 1);
        assert_eq!(rows.len(), 2 * 3 * (5 + 3));
        let measured: Vec<_> = rows.iter().filter(|row| row.reached.is_some()).collect();
        let shown: Vec<_> = measured
            .iter()
            .map(|row| (row.value.as_str(), row.wanted.as_str(), row.reached))
            .collect();
        assert_eq!(
            shown,
            [
                ("0.80", "at most 0.90", Some(true)),
                ("0.80", "at most 0.40", Some(false)),
                ("1.00", "at least 1.10", Some(false)),
                ("1.00", "at least 1.10", Some(false)),
            ]
        );
    }
}
