//! The lines of `sampan top`, for a terminal of some size.

use super::cells::{age, bytes, count, cut, time};
use super::scrape::{Between, REQUESTS};
use super::tables::{routes, statements, workers};
use crate::terminal::paint::{bold, red};
use std::time::{SystemTime, UNIX_EPOCH};

/// The room for lines, and their look.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    /// The width of a line, in columns.
    pub(super) width: usize,
    /// The most lines.
    pub(super) height: usize,
    pub(super) colours: bool,
}

/// Returns the lines about the whole server, and its tables: routes, workers, statements.
pub(super) fn lines(between: &Between<'_>, shown: &str, screen: Screen) -> Vec<String> {
    let Screen {
        width,
        height,
        colours,
    } = screen;
    let mut lines = head(between, shown, colours);
    let tables = [routes, workers, statements].map(|table| table(between, width, colours));
    let mut tables: Vec<Vec<String>> = tables
        .into_iter()
        .filter(|table| !table.is_empty())
        .collect();
    // An empty line stands before each.
    let room = height.saturating_sub(lines.len() + tables.len());
    fit(&mut tables, room);
    for table in tables {
        lines.push(String::new());
        lines.extend(table);
    }
    lines.truncate(height);
    lines.into_iter().map(|line| cut(&line, width)).collect()
}

/// Cuts the ends of tables that need more than their share of so many lines. Lines that short tables leave are shared
/// by the others.
fn fit(tables: &mut [Vec<String>], room: usize) {
    let mut shortest_first: Vec<&mut Vec<String>> = tables.iter_mut().collect();
    shortest_first.sort_by_key(|table| table.len());
    let (mut left, mut others) = (room, shortest_first.len());
    for table in shortest_first {
        table.truncate(left / others);
        left -= table.len();
        others -= 1;
    }
}

fn head(between: &Between<'_>, shown: &str, colours: bool) -> Vec<String> {
    let now = between.now;
    let value = |name: &str| now.sum(name, &[]);
    let rate = |name: &str| count(between.rate(name, &[]));
    // The requests of this command itself are left out, and their connections.
    let others = |name: &str| count(between.others(name, &[]));
    let other = |name: &str| (value(name) - between.own()).max(0.0);
    let version = now.values("sampan_build_info", "version");
    let version = version.first().map_or("", String::as_str);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let since_1970 = since_1970.unwrap_or_default().as_secs_f64();
    let up = age(since_1970 - value("process_start_time_seconds"));
    let failed = between.rate("sampan_request_errors_total", &[]);
    let refused = between.rate("sampan_refusals_total", &[]);
    let alarmed = |text: String, is_alarm: bool| match is_alarm {
        true => red(&text, colours),
        false => text,
    };
    let mut lines = vec![
        format!(
            "{}  {shown}  up {up}  {} workers",
            bold(&format!("sampan {version}"), colours),
            value("sampan_workers"),
        ),
        format!(
            "cpu {:.0} %   memory {}   scripts {}   files {} of {}",
            between.rate("process_cpu_seconds_total", &[]) * 100.0,
            bytes(value("process_resident_memory_bytes")),
            bytes(value("sampan_isolate_memory_bytes")),
            value("process_open_fds"),
            value("process_max_fds"),
        ),
        format!(
            "requests {}/s   in flight {}   held {}   {}   {}",
            others(REQUESTS),
            other("sampan_http_requests_in_flight"),
            value("sampan_http_answers_held"),
            alarmed(format!("errors {}/s", count(failed)), failed > 0.0),
            alarmed(format!("refusals {}/s", count(refused)), refused > 0.0),
        ),
        format!(
            "connections {}   parked {}   new {}/s   websockets {}   event streams {}",
            other("sampan_connections"),
            value("sampan_connections_parked"),
            others("sampan_connections_accepted_total"),
            value("sampan_websockets"),
            value("sampan_event_streams"),
        ),
    ];
    if now.has("sampan_http_queue_seconds_count") {
        let waits = "sampan_http_queue_seconds";
        lines.push(format!(
            "before a script runs p50 {}   p99 {}",
            time(between.quantile(0.5, waits, &[])),
            time(between.quantile(0.99, waits, &[])),
        ));
    }
    if now.has("sampan_db_commit_seconds_count") {
        let commits = "sampan_db_commit_seconds";
        let writes = between.growth("sampan_db_commit_writes_sum", &[]);
        let groups = between.growth("sampan_db_commit_writes_count", &[]);
        lines.push(format!(
            "commits {}/s   p50 {}   p99 {}   writes each {}",
            rate("sampan_db_commit_seconds_count"),
            time(between.quantile(0.5, commits, &[])),
            time(between.quantile(0.99, commits, &[])),
            if groups > 0.0 {
                count(writes / groups)
            } else {
                "-".to_owned()
            },
        ));
    }
    if now.has("sampan_jobs") || now.has("sampan_job_attempts_total") {
        let of = |state| now.sum("sampan_jobs", &[("state", state)]);
        let ended =
            |outcome| count(between.rate("sampan_job_attempts_total", &[("outcome", outcome)]));
        let dead = of("dead");
        lines.push(format!(
            "jobs ready {}   scheduled {}   running {}   {}   done {}/s   failed {}/s",
            of("ready"),
            of("scheduled"),
            of("running"),
            alarmed(format!("dead {dead}"), dead > 0.0),
            ended("done"),
            ended("failed"),
        ));
    }
    if now.has("sampan_backup_lag_seconds") {
        let lag = value("sampan_backup_lag_seconds");
        lines.push(alarmed(format!("backup {} behind", age(lag)), lag > 60.0));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::scrape::Scrape;

    const NOW: &str = "\
        sampan_build_info{version=\"1.2.3\",language=\"lua\"} 1\n\
        sampan_workers 2\n\
        sampan_http_requests_total{route=\"/a\",method=\"GET\",status=\"200\"} 1000\n\
        sampan_http_requests_total{route=\"/b\\n\",method=\"GET\",status=\"503\"} 2000\n\
        sampan_http_request_seconds_bucket{route=\"/a\",le=\"0.001\"} 1000\n\
        sampan_http_request_seconds_bucket{route=\"/a\",le=\"+Inf\"} 1000\n\
        sampan_jobs{queue=\"default\",state=\"dead\"} 3\n\
        sampan_backup_lag_seconds 7200\n\
        sampan_http_queue_seconds_bucket{route=\"/a\",le=\"0.01\"} 10\n\
        sampan_http_queue_seconds_bucket{route=\"/b\\n\",le=\"0.01\"} 10\n\
        sampan_http_queue_seconds_bucket{route=\"/a\",le=\"+Inf\"} 10\n\
        sampan_http_queue_seconds_bucket{route=\"/b\\n\",le=\"+Inf\"} 10\n\
        sampan_http_queue_seconds_count{route=\"/a\"} 10\n\
        sampan_worker_cpu_seconds_total{worker=\"10\"} 0\n\
        sampan_worker_cpu_seconds_total{worker=\"2\"} 0\n\
        sampan_http_requests_in_flight{worker=\"2\"} 7\n\
        sampan_isolate_memory_bytes{worker=\"2\"} 3145728\n\
        sampan_slow_statements_total{statement=\"SELECT \\\"a\\\"\"} 3\n\
        sampan_slow_statement_seconds_total{statement=\"SELECT \\\"a\\\"\"} 0.12\n\
        sampan_slow_statement_longest_seconds{statement=\"SELECT \\\"a\\\"\"} 0.05\n\
        sampan_slow_statement_seconds_total{statement=\"UPDATE b\"} 2.5\n";

    fn shown(width: usize) -> Vec<String> {
        shown_in(width, usize::MAX)
    }

    fn shown_in(width: usize, height: usize) -> Vec<String> {
        let (before, now) = (Scrape::read(""), Scrape::read(NOW));
        let between = Between {
            before: &before,
            now: &now,
        };
        let screen = Screen {
            width,
            height,
            colours: false,
        };
        lines(&between, "http://127.0.0.1:8080", screen)
    }

    #[test]
    fn the_busiest_route_comes_first_and_lines_fit() {
        for width in [40, 80, 120] {
            let lines = shown(width);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{lines:#?}"
            );
            assert!(lines[0].starts_with("sampan 1.2.3  http"), "{}", lines[0]);
            let at = |begin: &str| lines.iter().position(|line| line.starts_with(begin));
            assert!(at("/b?") < at("/a ") && at("/b?").is_some(), "{lines:#?}");
        }
        let lines = shown(80);
        let title = lines.iter().find(|line| line.starts_with("ROUTE"));
        assert!(
            title.is_some_and(|title| title.ends_with("5XX/S")),
            "{lines:#?}"
        );
        assert!(
            lines.iter().any(|line| line.contains("dead 3")),
            "{lines:#?}"
        );
        assert!(
            lines.iter().any(|line| line == "backup 2 h 0 min behind"),
            "{lines:#?}"
        );
        let route = lines
            .iter()
            .find(|line| line.starts_with("/a "))
            .expect("there");
        assert!(
            route.contains("500 µs") && route.contains("990 µs"),
            "{route}"
        );
    }
    #[test]
    fn waits_workers_and_slow_statements_are_shown() {
        let lines = shown(80);
        assert!(
            lines.contains(&"before a script runs p50 5.0 ms   p99 9.9 ms".to_owned()),
            "{lines:#?}"
        );
        let cells = |begin: &str| -> Vec<String> {
            let line = lines.iter().find(|line| line.starts_with(begin));
            let cells = line.map(|line| line.split("  ").map(str::trim).map(str::to_owned));
            let cells = cells.unwrap_or_else(|| panic!("{begin}: {lines:#?}"));
            cells.filter(|cell| !cell.is_empty()).collect()
        };
        assert_eq!(
            cells("WORKER"),
            ["WORKER", "BUSY", "REQUESTS", "MEMORY", "GC/S"]
        );
        assert_eq!(cells("2 "), ["2", "0 %", "7", "3.0 MiB", "0"]);
        assert_eq!(
            cells("SLOW"),
            ["SLOW STATEMENT", "TIMES", "TOTAL", "LONGEST"]
        );
        assert_eq!(cells("SELECT"), ["SELECT \"a\"", "3", "120 ms", "50 ms"]);
        let at = |begin: &str| lines.iter().position(|line| line.starts_with(begin));
        assert!(
            at("2 ") < at("10 ") && at("UPDATE") < at("SELECT"),
            "{lines:#?}"
        );
    }

    #[test]
    fn each_table_has_its_share_of_a_low_terminal() {
        let all = shown(80).len();
        assert_eq!(shown_in(80, all).len(), all);
        let lines = shown_in(80, all - 3);
        assert_eq!(lines.len(), all - 3);
        for begin in ["ROUTE", "WORKER", "SLOW STATEMENT"] {
            assert!(
                lines.iter().any(|line| line.starts_with(begin)),
                "{lines:#?}"
            );
        }
        for height in 0..all {
            assert!(shown_in(80, height).len() <= height);
        }
        let table = |lines: usize| vec![String::new(); lines];
        let mut tables = [table(9), table(2), table(30)];
        fit(&mut tables, 20);
        assert_eq!(tables.map(|table| table.len()), [9, 2, 9]);
    }
}
