//! Clients that write rows and remember what became of each. After each restart, and now and then, they compare: what
//! was acknowledged is there, what was refused is not, and of no batch there is a half.

use super::client::{Client, listed};
use crate::run::add;
use crate::visitor::{Request, Told};
use sampan_testkit::wait;
use std::collections::BTreeMap;
use std::time::Duration;

/// The routes that write, and how many rows each.
const ROUTES: &[(&str, u64)] = &[
    ("write", 1),
    ("late", 1),
    ("slow-write", 1),
    ("batch", 10),
    ("transaction", 10),
];
/// The writes between two comparisons.
const WRITES_MAX: usize = 60;
/// The tries of the last comparison, and the pause between them.
const LAST_TRIES: u32 = 300;
const LAST_PAUSE: Duration = Duration::from_millis(100);

/// The knowledge about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Acknowledged,
    Refused,
    Unknown,
}

/// A write: its rows are those from `first` on.
#[derive(Debug)]
struct Write {
    route: &'static str,
    first: u64,
    rows: u64,
    value: String,
    outcome: Outcome,
}

struct Writer {
    client: Client,
    writes: Vec<Write>,
    /// The number of the next row.
    next: u64,
    /// All rows up to here were compared, and are deleted or about to be.
    compared: u64,
}

/// Writes until the end.
pub(super) fn work(client: Client) {
    let mut writer = Writer {
        client,
        writes: Vec::new(),
        next: 1,
        compared: 0,
    };
    let mut life = writer.client.visitor.place().life;
    while !writer.client.has_ended() {
        writer.write();
        writer.client.pause(8);
        let now = writer.client.visitor.place().life;
        if now != life || writer.writes.len() >= WRITES_MAX {
            life = if writer.compare() { now } else { life };
        }
    }
    for _ in 0..LAST_TRIES {
        if writer.compare() {
            return;
        }
        wait::dawdle(LAST_PAUSE);
    }
    let site = &writer.client.visitor.site;
    site.fail("the last comparison of rows was not answered");
}

impl Writer {
    fn write(&mut self) {
        let number = self.client.number;
        let (route, rows) = self.client.random.one_of(ROUTES);
        let value = format!("{:x}", self.client.random.next());
        let first = self.next;
        self.next += rows;
        let path = format!("/{route}/{number}/{first}");
        let request = Request::post(&path, &format!(r#"{{"value":"{value}"}}"#));
        let wanted = format!(r#"{{"writer":{number},"seq":{first},"rows":{rows}}}"#);
        let outcome = match self.client.visitor.expect(&request, &wanted) {
            Told::Answer(_) => Outcome::Acknowledged,
            // Its own group may be on disk, and one that was lost while it waited afterwards.
            Told::Refused if route == "late" => Outcome::Unknown,
            Told::Refused => Outcome::Refused,
            Told::Cut => Outcome::Unknown,
        };
        if outcome == Outcome::Acknowledged && self.client.random.one_in(4) {
            let request = Request::get(&format!("/value/{number}/{first}"));
            let wanted = format!(r#"{{"value":"{value}"}}"#);
            self.client.visitor.expect(&request, &wanted);
        }
        self.writes.push(Write {
            route,
            first,
            rows,
            value,
            outcome,
        });
    }

    /// Compares all writes with the rows that are there, and forgets them. False if there was no answer.
    fn compare(&mut self) -> bool {
        let Some(mut there) = self.rows() else {
            return false;
        };
        let site = &self.client.visitor.site;
        let mut kept = 0;
        for write in self.writes.drain(..) {
            let seqs = write.first..write.first + write.rows;
            let values: Vec<String> = seqs.filter_map(|seq| there.remove(&seq)).collect();
            let found = values.len() as u64;
            let is_right = match write.outcome {
                Outcome::Acknowledged => found == write.rows,
                Outcome::Refused => found == 0,
                Outcome::Unknown => found == 0 || found == write.rows,
            };
            if !is_right || values.iter().any(|value| *value != write.value) {
                let (number, route) = (self.client.number, write.route);
                let Write {
                    first,
                    rows,
                    value,
                    outcome,
                    ..
                } = write;
                site.fail(format_args!(
                    "writer {number}: /{route}/{number}/{first} was {outcome:?}: {found} of {rows} rows are there, \
                     with {values:?} for {value}"
                ));
            }
            if write.outcome == Outcome::Acknowledged {
                kept += found;
            }
        }
        if let Some(row) = there.first_key_value() {
            site.fail(format_args!("a row without a request is there: {row:?}"));
        }
        add(&site.run.counts().kept, kept);
        self.compared = self.next - 1;
        let path = format!("/forget/{}/{}", self.client.number, self.compared);
        self.client.visitor.ask(&Request::post(&path, "{}"));
        true
    }

    /// Reads the rows behind those that were compared.
    fn rows(&mut self) -> Option<BTreeMap<u64, String>> {
        let mut rows = BTreeMap::new();
        let mut after = self.compared;
        loop {
            let path = format!("/rows/{}/{after}", self.client.number);
            let page = listed(&self.client.visitor.value(&Request::get(&path))?)?;
            match page.last() {
                None => return Some(rows),
                Some((last, _)) => after = *last,
            }
            rows.extend(page);
        }
    }
}
