//! The figures of a load: a text with a chart, and JSON.

use super::connection::FAILURES;
use super::load::Plan;
use super::tally::Tally;
use crate::terminal::paint;
use hdrhistogram::Histogram;
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The percentiles that are told.
const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 50.0),
    ("p75", 75.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
    ("max", 100.0),
];
/// The widest bar of the chart.
const BAR_CHARS: usize = 48;
/// Rows of the chart.
const ROWS_MAX: usize = 16;

pub(super) struct Report<'a> {
    plan: &'a Plan,
    tally: Tally,
    seconds: f64,
}

impl<'a> Report<'a> {
    pub(super) fn new(plan: &'a Plan, tally: Tally, took: Duration) -> Self {
        Self {
            plan,
            tally,
            seconds: took.as_secs_f64().max(0.001),
        }
    }

    pub(super) fn answers(&self) -> u64 {
        self.tally.latencies.len()
    }

    /// Returns the errors: the name, the count and the meaning of each.
    fn errors(&self) -> impl Iterator<Item = (&'static str, u64, String)> {
        let refused = self.tally.connect_fault.as_deref();
        let patience = span(self.plan.timeout.as_nanos() as u64);
        let meanings = [
            format!("connecting failed: {}", refused.unwrap_or("not possible")),
            "closed by the server before the answer was complete".to_owned(),
            "sending or receiving failed".to_owned(),
            "what came is no answer of HTTP/1".to_owned(),
            format!("no answer within {patience}"),
        ];
        let all = FAILURES.into_iter().zip(self.tally.failures).zip(meanings);
        all.map(|((name, count), meaning)| (name, count, meaning))
    }

    pub(super) fn json(&self) -> String {
        let tally = &self.tally;
        let errors = self
            .errors()
            .map(|(name, count, _)| (name.to_owned(), count.into()));
        let statuses = tally
            .statuses
            .iter()
            .map(|(status, count)| (status.to_string(), (*count).into()));
        json!({
            "method": self.plan.target.method,
            "url": self.plan.target.url,
            "connections": self.plan.connections,
            "threads": self.plan.threads,
            "rate": self.plan.rate,
            "seconds": self.seconds,
            "answers": self.answers(),
            "answers_per_second": self.answers() as f64 / self.seconds,
            "received_bytes": tally.received_bytes,
            "latency_ms": millis(&tally.latencies),
            "accepted_ms": millis(&tally.accepted),
            "wait_ms": millis(&tally.waits),
            "statuses": serde_json::Map::from_iter(statuses),
            "errors": serde_json::Map::from_iter(errors),
            "unsent": tally.unsent,
        })
        .to_string()
    }

    /// Returns a line about the answers.
    pub(super) fn line(&self) -> String {
        let statuses = self.tally.statuses.iter();
        let statuses = statuses.map(|(status, count)| format!("{status}: {}", grouped(*count)));
        let answers = self
            .errors()
            .filter(|(_, count, _)| *count > 0)
            .map(|(_, count, what)| format!("{} × {what}", grouped(count)));
        let told: Vec<String> = statuses.chain(answers).collect();
        format!(
            "{} {}: {} answers in {:.1} s ({})",
            self.plan.target.method,
            self.plan.target.url,
            grouped(self.answers()),
            self.seconds,
            told.join(", ")
        )
    }

    pub(super) fn text(&self, is_terminal: bool) -> String {
        let (plan, tally) = (self.plan, &self.tally);
        let mut text = String::new();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let how = plan
            .rate
            .map_or("as fast as it answers".to_owned(), |rate| {
                format!("{} requests due per second", grouped(rate as u64))
            });
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}\n{} connection{}, {} thread{}, {:.1} s, {how}\n",
            paint::bold(
                &format!("{} {}", plan.target.method, plan.target.url),
                is_terminal
            ),
            plan.connections,
            plural(plan.connections),
            plan.threads,
            plural(plan.threads),
            self.seconds
        );
        let line = |text: &mut String, name: &str, value: String| {
            let _ = writeln!(text, "{name:<10}{value}");
        };
        let per_second = |count: u64| count as f64 / self.seconds;
        line(
            &mut text,
            "answers",
            format!(
                "{}, {} per second",
                grouped(self.answers()),
                grouped(per_second(self.answers()) as u64)
            ),
        );
        line(
            &mut text,
            "received",
            format!(
                "{}, {} per second",
                size(tally.received_bytes as f64),
                size(per_second(tally.received_bytes))
            ),
        );
        for (status, count) in &tally.statuses {
            let shown = grouped(*count);
            let shown = match status {
                200..=399 => shown,
                _ => paint::red(&shown, is_terminal),
            };
            line(&mut text, &format!("  {status}"), shown);
        }
        let mut seen = self.errors().filter(|(_, count, _)| *count > 0).peekable();
        if seen.peek().is_none() {
            line(&mut text, "errors", "none".to_owned());
        }
        for (name, count, what) in seen {
            let shown = paint::red(&format!("{} × {what}", grouped(count)), is_terminal);
            line(&mut text, name, shown);
        }
        if tally.unsent > 0 {
            let what =
                "requests were due and could not be sent: all connections were busy at the end";
            let shown = paint::red(&format!("{} {what}", grouped(tally.unsent)), is_terminal);
            line(&mut text, "unsent", shown);
        }
        if self.answers() > 0 {
            text.push('\n');
            for (name, percentile) in PERCENTILES {
                line(
                    &mut text,
                    name,
                    span(tally.latencies.value_at_percentile(percentile)),
                );
            }
            text.push('\n');
            text.push_str(&chart(&tally.latencies, is_terminal));
        }
        let note = match plan.rate {
            Some(_) => {
                "Latencies count from the time at which a request was due, so a stall counts for all that it delayed."
            }
            None => {
                "Each connection waits for its answer before it asks again, so a stall counts once. --rate measures \
                 what users would see."
            }
        };
        text.push_str(&paint::dim(note, is_terminal));
        text
    }
}

/// Returns the percentiles of times in milliseconds.
fn millis(times: &Histogram<u64>) -> serde_json::Value {
    let of = |nanos: u64| nanos as f64 / 1e6;
    let mut found = serde_json::Map::new();
    for (name, percentile) in PERCENTILES {
        let value = of(times.value_at_percentile(percentile));
        found.insert(name.to_owned(), value.into());
    }
    found.insert("min".to_owned(), of(times.min()).into());
    found.insert("mean".to_owned(), (times.mean() / 1e6).into());
    found.into()
}

/// Returns the distribution of response times: rows of equal ratios from the fastest to the slowest.
fn chart(latencies: &Histogram<u64>, is_terminal: bool) -> String {
    let (least, most) = (latencies.min().max(1) as f64, latencies.max().max(1) as f64);
    // At most as many rows as there are, and none of less than a tenth.
    let rows = ((most / least).ln() / 1.1_f64.ln())
        .ceil()
        .clamp(1.0, ROWS_MAX as f64) as usize;
    let ratio = (most / least).powf(1.0 / rows as f64);
    let mut counts = vec![0_u64; rows];
    for value in latencies.iter_recorded() {
        let at = match ratio > 1.0 {
            true => ((value.value_iterated_to() as f64 / least).ln() / ratio.ln()).floor(),
            false => 0.0,
        };
        counts[(at.max(0.0) as usize).min(rows - 1)] += value.count_at_value();
    }
    let highest = counts.iter().copied().max().unwrap_or(1).max(1);
    let all = latencies.len().max(1);
    let mut text = String::new();
    for (at, count) in counts.iter().enumerate() {
        let to = least * ratio.powi(at as i32 + 1);
        let percent = *count as f64 * 100.0 / all as f64;
        let bar = bar(*count as f64 / highest as f64, *count > 0);
        let _ = writeln!(
            text,
            "≤ {:>8}  {}  {}",
            span(to as u64),
            paint::cyan(&format!("{bar:<BAR_CHARS$}"), is_terminal),
            match percent {
                0.0 => String::new(),
                _ if percent < 0.01 => "< 0.01 %".to_owned(),
                _ => format!("{percent:>5.2} %"),
            }
        );
    }
    text.push('\n');
    // The blanks of empty bars would only be in the way.
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// A bar in eighths of a character. What is there at all is seen.
fn bar(part: f64, is_there: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * (BAR_CHARS * 8) as f64).round() as usize;
    let eighths = if is_there { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Nanoseconds as people read them.
fn span(nanos: u64) -> String {
    let nanos = nanos as f64;
    match nanos {
        _ if nanos < 1e5 => format!("{:.1} µs", nanos / 1e3),
        _ if nanos < 1e6 => format!("{:.0} µs", nanos / 1e3),
        _ if nanos < 1e7 => format!("{:.2} ms", nanos / 1e6),
        _ if nanos < 1e9 => format!("{:.1} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}

fn size(bytes: f64) -> String {
    match bytes {
        _ if bytes < 1e3 => format!("{bytes:.0} B"),
        _ if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        _ if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.2} GB", bytes / 1e9),
    }
}

/// A number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [
                span(1_500),
                span(250_000),
                span(1_234_000),
                span(56_000_000),
                span(2_500_000_000)
            ],
            ["1.5 µs", "250 µs", "1.23 ms", "56.0 ms", "2.50 s"]
        );
        assert_eq!(
            [size(12.0), size(1_500.0), size(2e6)],
            ["12 B", "1.5 kB", "2.0 MB"]
        );
    }

    #[test]
    fn a_chart_counts_every_answer_once() {
        let mut latencies =
            Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).expect("bounds");
        assert_eq!(
            chart(
                &{
                    let mut one = latencies.clone();
                    one.record(50_000).expect("in bounds");
                    one
                },
                false
            )
            .lines()
            .count(),
            2
        );
        for nanos in (50_000..5_000_000).step_by(1_000) {
            latencies.record(nanos).expect("in bounds");
        }
        let drawn = chart(&latencies, false);
        assert_eq!(drawn.trim_end().lines().count(), ROWS_MAX, "{drawn}");
        let percents = drawn.lines().filter_map(|line| {
            line.strip_suffix(" %")?
                .rsplit(' ')
                .next()?
                .parse::<f64>()
                .ok()
        });
        let sum: f64 = percents.sum();
        assert!((99.8..=100.2).contains(&sum), "{sum}:\n{drawn}");
        assert!(drawn.contains(&"█".repeat(BAR_CHARS)), "{drawn}");
    }
}
