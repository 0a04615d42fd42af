//! The expected form of database rows in an answer.
//!
//! The seeded rows of examples/bench_db are the same in every database, so an answer that holds only those is
//! known to the byte; inserted ones carry the time of their insertion.

use serde_json::{Value, json};

/// The number of rows that a route reads.
pub(crate) const PAGE: usize = 20;

/// The rows that examples/bench_db begins with.
pub(crate) const SEEDED: u64 = 1_000;

/// The time of the first seeded row, a second before the next, in milliseconds since 1970.
const SEEDED_FROM_MS: u64 = 1_700_000_000_000;

/// `{"id": N}`, N beyond the seeded rows.
pub(crate) fn is_new_event_id(found: &Value) -> bool {
    found.as_object().is_some_and(|fields| fields.len() == 1)
        && found["id"].as_u64().is_some_and(|id| id > SEEDED)
}

/// The last seeded rows: nothing has been inserted.
pub(crate) fn are_newest_seeded_events(found: &Value) -> bool {
    *found == newest_seeded_events()
}

fn newest_seeded_events() -> Value {
    let event = |id: u64| {
        json!({
            "id": id,
            "kind": "seed",
            "payload": format!("{{\"user\":{id:05},\"page\":\"/home\"}}"),
            "ts": SEEDED_FROM_MS + id * 1_000,
        })
    };
    (0..PAGE as u64).map(|back| event(SEEDED - back)).collect()
}

/// A row that examples/bench_postgres begins with.
pub(super) fn seeded_row(id: u64) -> Value {
    json!({
        "id": id,
        "kind": "seed",
        "payload": format!("{{\"user\":{id:05},\"page\":\"/home\"}}"),
        "ts": SEEDED_FROM_MS / 1_000 + id,
    })
}

/// The last of these rows.
pub(super) fn are_newest_seeded_rows(found: &Value) -> bool {
    let newest = (0..PAGE as u64).map(|back| seeded_row(SEEDED - back));
    *found == newest.collect::<Value>()
}

/// The newest rows, at least the first of them inserted.
pub(crate) fn are_newest_events(found: &Value) -> bool {
    let is_event = |row: &Value| {
        row.as_object().is_some_and(|fields| fields.len() == 4)
            && row["id"].is_u64()
            && row["ts"].is_u64()
            && row["kind"].is_string()
            && row["payload"].is_string()
    };
    let is_inserted = |row: &Value| row["kind"] == "view" && row["id"].as_u64() > Some(SEEDED);
    are_rows(found, is_event, |row| row["ts"].as_u64())
        && is_inserted(&found[0])
        && found[0]["payload"] == r#"{"user":12345,"page":"/home"}"#
}

/// The newest visits.
pub(crate) fn are_newest_visits(found: &Value) -> bool {
    let is_visit = |row: &Value| {
        row.as_object().is_some_and(|fields| fields.len() == 3)
            && row["id"].is_u64()
            && row["path"] == "/"
            && row["ts"].is_number()
    };
    are_rows(found, is_visit, |row| row["id"].as_u64())
}

/// A full page of such rows, none newer than the one before it.
fn are_rows(
    found: &Value,
    is_row: impl Fn(&Value) -> bool,
    age: impl Fn(&Value) -> Option<u64>,
) -> bool {
    found.as_array().is_some_and(|rows| {
        rows.len() == PAGE
            && rows.iter().all(is_row)
            && rows.is_sorted_by(|newer, older| age(newer) >= age(older))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(ids: std::ops::Range<u64>) -> Value {
        let visit = |id| json!({ "id": id, "path": "/", "ts": 1.5 });
        ids.rev().map(visit).collect()
    }

    #[test]
    fn a_page_is_full_and_ordered() {
        assert!(are_newest_visits(&visits(5..25)));
        assert!(!are_newest_visits(&visits(5..24)), "one is missing");
        let mut wrong = visits(5..25);
        wrong[3]["id"] = json!(99);
        assert!(!are_newest_visits(&wrong), "out of order");
    }

    #[test]
    fn an_inserted_row_comes_first() {
        let mut rows = newest_seeded_events();
        assert!(are_newest_seeded_events(&rows) && !are_newest_events(&rows));
        rows[0] = json!({
            "id": 1_001, "kind": "view", "payload": r#"{"user":12345,"page":"/home"}"#, "ts": 1_800_000_000_000_u64,
        });
        assert!(are_newest_events(&rows) && !are_newest_seeded_events(&rows));
    }

    #[test]
    fn an_id_is_new() {
        assert!(is_new_event_id(&json!({ "id": 1_001 })));
        assert!(!is_new_event_id(&json!({ "id": 7 })));
        assert!(!is_new_event_id(&json!({ "id": "1001" })));
    }
}
