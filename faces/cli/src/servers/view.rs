//! The lines of `sampan top`, for a width.

use super::scrape::{Between, NO_ROUTE, Only, REQUESTS};
use crate::terminal::paint::{bold, dim, red};
use std::time::{SystemTime, UNIX_EPOCH};
use unicode_width::UnicodeWidthChar;

/// The columns of numbers of the table of routes.
const COLUMNS: [&str; 6] = ["REQ/S", "P50", "P99", "SCRIPT99", "SQL99", "5XX/S"];
/// The width of each of them, with the space before it.
const COLUMN: usize = 10;
/// The least width of the names of routes.
const NAME_MIN: usize = 16;

const TIMES: &str = "sampan_http_request_seconds";

/// Returns the lines about the whole server and its routes, the busiest first.
pub(super) fn lines(
    between: &Between<'_>,
    shown: &str,
    width: usize,
    colours: bool,
) -> Vec<String> {
    let mut lines = head(between, shown, colours);
    lines.push(String::new());
    lines.extend(routes(between, width, colours));
    lines.into_iter().map(|line| cut(&line, width)).collect()
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

fn routes(between: &Between<'_>, width: usize, colours: bool) -> Vec<String> {
    // What does not fit is left out from the right.
    let shown = width.saturating_sub(NAME_MIN) / COLUMN;
    let columns = &COLUMNS[..shown.min(COLUMNS.len())];
    let name_width = width.saturating_sub(columns.len() * COLUMN).max(NAME_MIN);
    let name_width = name_width.min(60);
    let row = |name: &str, cells: &[String]| {
        let cells = cells.iter().take(columns.len());
        let cells: String = cells.map(|cell| format!("{cell:>COLUMN$}")).collect();
        let name = cut(name, name_width);
        let pad = name_width - name.chars().count().min(name_width);
        format!("{name}{}{cells}", " ".repeat(pad))
    };
    let title: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    let mut lines = vec![dim(&row("ROUTE", &title), colours)];
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
        let line = row(&name, &cells);
        lines.push(if faults > 0.0 {
            red(&line, colours)
        } else {
            line
        });
    }
    lines
}

/// Cuts a line to a width. The codes of colours take no room.
fn cut(line: &str, width: usize) -> String {
    let (mut out, mut used, mut is_code) = (String::new(), 0, false);
    for char in line.chars() {
        if char == '\x1b' {
            is_code = true;
        }
        if is_code {
            out.push(char);
            is_code = char != 'm';
            continue;
        }
        // What a terminal would take for a command is shown as a mark.
        let char = if char.is_control() { '?' } else { char };
        used += char.width().unwrap_or(0);
        if used <= width {
            out.push(char);
        }
    }
    out
}

/// A number of things, short.
fn count(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        _ if number < 10.0 => format!("{number:.1}"),
        _ if number < 10_000.0 => format!("{number:.0}"),
        _ if number < 1e6 => format!("{:.1}k", number / 1e3),
        _ => format!("{:.1}M", number / 1e6),
    }
}

/// A time in seconds, short.
fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return "-".to_owned();
    };
    match seconds {
        _ if seconds < 0.000_999_5 => format!("{:.0} µs", seconds * 1e6),
        _ if seconds < 0.009_95 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 0.999_5 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

fn bytes(number: f64) -> String {
    match number {
        _ if number < 1024.0 * 1024.0 => format!("{:.0} KiB", number / 1024.0),
        _ if number < 1024.0 * 1024.0 * 1024.0 => format!("{:.1} MiB", number / 1048576.0),
        _ => format!("{:.1} GiB", number / 1073741824.0),
    }
}

/// A time in seconds that may be long.
fn age(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60) {
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
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
        sampan_backup_lag_seconds 7200\n";

    fn shown(width: usize) -> Vec<String> {
        let (before, now) = (Scrape::read(""), Scrape::read(NOW));
        let between = Between {
            before: &before,
            now: &now,
        };
        lines(&between, "http://127.0.0.1:8080", width, false)
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
}
