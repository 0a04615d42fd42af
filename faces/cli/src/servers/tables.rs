//! The tables of `sampan top`: routes, workers, statements.

use super::cells::{bytes, count, cut, time};
use super::scrape::{Between, NO_ROUTE, Only, REQUESTS};
use crate::terminal::paint::{dim, red};

/// The width of a column of numbers, with the space before it.
const COLUMN: usize = 10;
/// The least width of the names in the first column.
const NAME_MIN: usize = 16;
/// The most width of the names of routes and workers.
const NAME_MAX: usize = 60;

const TIMES: &str = "sampan_http_request_seconds";
const WORKER_CPU: &str = "sampan_worker_cpu_seconds_total";
const STATEMENT_SECONDS: &str = "sampan_slow_statement_seconds_total";

/// The columns of a table, and the room for it.
struct TopTable {
    /// The titles of the columns of numbers that fit; others are left out from the right.
    columns: &'static [&'static str],
    name_width: usize,
}

impl TopTable {
    fn new(columns: &'static [&'static str], width: usize, name_max: usize) -> Self {
        let shown = width.saturating_sub(NAME_MIN) / COLUMN;
        let columns = &columns[..shown.min(columns.len())];
        let name_width = width.saturating_sub(columns.len() * COLUMN);
        Self {
            columns,
            name_width: name_width.clamp(NAME_MIN, name_max),
        }
    }

    fn title(&self, name: &str, colours: bool) -> String {
        let titles: Vec<String> = self.columns.iter().map(|one| (*one).to_owned()).collect();
        dim(&self.row(name, &titles), colours)
    }

    fn row(&self, name: &str, cells: &[String]) -> String {
        let cells = cells.iter().take(self.columns.len());
        let cells: String = cells.map(|cell| format!("{cell:>COLUMN$}")).collect();
        let name = cut(name, self.name_width);
        let pad = self.name_width.saturating_sub(name.chars().count());
        format!("{name}{}{cells}", " ".repeat(pad))
    }
}

/// Returns the lines about routes, the busiest first.
pub(super) fn routes(between: &Between<'_>, width: usize, colours: bool) -> Vec<String> {
    let columns = &["REQ/S", "P50", "P99", "SCRIPT99", "SQL99", "5XX/S"];
    let table = TopTable::new(columns, width, NAME_MAX);
    let mut lines = vec![table.title("ROUTE", colours)];
    let names = between.now.values(REQUESTS, "route").into_iter();
    let rate = |name: &str| {
        let only: Only<'_> = &[("route", name)];
        match name {
            NO_ROUTE => between.others(REQUESTS, only),
            _ => between.rate(REQUESTS, only),
        }
    };
    let mut all: Vec<(f64, String)> = names.map(|name| (rate(&name), name)).collect();
    // What is left are the requests of this command itself.
    all.retain(|(rate, name)| name != NO_ROUTE || *rate > 0.0);
    all.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    for (rate, name) in all {
        let only: Only<'_> = &[("route", &name)];
        let statuses = between.now.values(REQUESTS, "status").into_iter();
        let faults = statuses.filter(|status| status.starts_with('5'));
        let faults =
            faults.map(|status| between.rate(REQUESTS, &[("route", &name), ("status", &status)]));
        let faults: f64 = faults.sum();
        let cells = [
            count(rate),
            time(between.quantile(0.5, TIMES, only)),
            time(between.quantile(0.99, TIMES, only)),
            time(between.quantile(0.99, "sampan_script_seconds", only)),
            time(between.quantile(0.99, "sampan_sql_seconds", only)),
            if faults > 0.0 {
                count(faults)
            } else {
                "-".to_owned()
            },
        ];
        let line = table.row(&name, &cells);
        lines.push(if faults > 0.0 {
            red(&line, colours)
        } else {
            line
        });
    }
    lines
}

/// Returns the lines about workers, by their numbers. None if the server tells nothing of them.
pub(super) fn workers(between: &Between<'_>, width: usize, colours: bool) -> Vec<String> {
    let now = between.now;
    let mut numbers: Vec<String> = now.values(WORKER_CPU, "worker").into_iter().collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    // 10 comes behind 9.
    numbers.sort_by_key(|number| number.parse().unwrap_or(u64::MAX));
    let columns = &["BUSY", "REQUESTS", "MEMORY", "GC/S"];
    let table = TopTable::new(columns, width, NAME_MIN);
    let mut lines = vec![table.title("WORKER", colours)];
    for number in numbers {
        let only: Only<'_> = &[("worker", &number)];
        let cells = [
            format!("{:.0} %", between.rate(WORKER_CPU, only) * 100.0),
            format!("{}", now.sum("sampan_http_requests_in_flight", only)),
            bytes(now.sum("sampan_isolate_memory_bytes", only)),
            count(between.rate("sampan_isolate_collections_total", only)),
        ];
        lines.push(table.row(&number, &cells));
    }
    lines
}

/// Returns the lines about the slowest statements since the server started, by their times. None if there was none.
pub(super) fn statements(between: &Between<'_>, width: usize, colours: bool) -> Vec<String> {
    let now = between.now;
    let texts = now.values(STATEMENT_SECONDS, "statement").into_iter();
    let total = |text: &str| now.sum(STATEMENT_SECONDS, &[("statement", text)]);
    let mut all: Vec<(f64, String)> = texts.map(|text| (total(&text), text)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    let table = TopTable::new(&["TIMES", "TOTAL", "LONGEST"], width, usize::MAX);
    let mut lines = vec![table.title("SLOW STATEMENT", colours)];
    for (total, text) in all {
        let only: Only<'_> = &[("statement", &text)];
        let cells = [
            format!("{}", now.sum("sampan_slow_statements_total", only)),
            time(Some(total)),
            time(Some(now.sum("sampan_slow_statement_longest_seconds", only))),
        ];
        lines.push(table.row(&text, &cells));
    }
    lines
}
