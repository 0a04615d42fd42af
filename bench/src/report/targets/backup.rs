//! The targets of `bench backup`.

use super::{CostAtMost, RatioTarget, cost};
use crate::peers::storage::Durability;
use crate::peers::{JS_COPIED, JS_NOT_COPIED, LUA_COPIED, LUA_NOT_COPIED};
use crate::routes::BACKUP;

/// The most that a write may cost with a copy, against without.
const RATIO_MAX: f64 = 1.10;

/// The rows, for the durabilities that were measured.
pub(crate) fn backup(durabilities: &[Durability]) -> Vec<RatioTarget> {
    let mut rows = Vec::new();
    for &route in BACKUP {
        for &durability in durabilities {
            for (with, without) in [(LUA_COPIED, LUA_NOT_COPIED), (JS_COPIED, JS_NOT_COPIED)] {
                rows.push(RatioTarget {
                    durability: Some((durability, durability)),
                    limit: CostAtMost(RATIO_MAX),
                    ..cost(with, without, route, RATIO_MAX)
                });
            }
        }
    }
    rows
}
