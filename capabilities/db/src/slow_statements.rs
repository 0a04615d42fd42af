//! The statements of a process that took long, for `sampan top` and Prometheus.
//!
//! A statement that is faster than [`SLOW_MILLIS_MIN`] costs a comparison. A slower one takes a lock that all workers
//! share.

use sampan_host::metrics::{Readings, known};
use sampan_host::trace::without_values;
use std::cmp::Reverse;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time from which on a statement counts, in milliseconds.
const SLOW_MILLIS_MIN: u64 = 10;
const SLOW_MIN: Duration = Duration::from_millis(SLOW_MILLIS_MIN);
/// The most statements that are kept. Another one takes the place of that with the least time.
const KEPT_MAX: usize = 100;
/// The most statements that are told: those with the most time.
const TOLD_MAX: usize = 20;
/// The most bytes of a text that are kept.
const TEXT_BYTES_MAX: usize = 200;
/// The most bytes of a statement that is kept as the script wrote it.
const SQL_BYTES_MAX: usize = 1000;

/// The statements of a process that took long.
#[derive(Default)]
pub(crate) struct SlowStatements(Mutex<Vec<SlowStatement>>);

/// The executions of one statement that took long.
struct SlowStatement {
    /// A statement of this text as the script wrote it, by which the text is found quickly. None where it is long.
    sql: Option<String>,
    /// The text, as [`shown`] gives it.
    text: String,
    count: u64,
    total: Duration,
    longest: Duration,
}

impl SlowStatement {
    fn add(&mut self, time: Duration) {
        self.count += 1;
        self.total = self.total.saturating_add(time);
        self.longest = self.longest.max(time);
    }
}

impl SlowStatements {
    /// Takes note of the time of a statement, with its waits.
    #[inline]
    pub(crate) fn note(&self, sql: &str, time: Duration) {
        if time >= SLOW_MIN {
            self.add(sql, time);
        }
    }

    #[cold]
    fn add(&self, sql: &str, time: Duration) {
        let is_short = sql.len() <= SQL_BYTES_MAX;
        let mut kept = self.lock();
        if let Some(known) = kept
            .iter_mut()
            .find(|known| known.sql.as_deref() == Some(sql))
        {
            return known.add(time);
        }
        drop(kept);
        let text = shown(sql);
        let mut kept = self.lock();
        if let Some(known) = kept.iter_mut().find(|known| known.text == text) {
            return known.add(time);
        }
        if kept.len() >= KEPT_MAX {
            let least = (0..kept.len()).min_by_key(|at| kept[*at].total);
            kept.swap_remove(least.unwrap_or(0));
        }
        kept.push(SlowStatement {
            sql: is_short.then(|| sql.to_owned()),
            text,
            count: 1,
            total: time,
            longest: time,
        });
    }

    /// Adds those with the most time to what is read.
    pub(crate) fn read(&self, readings: &mut Readings) {
        let mut kept = self.lock();
        kept.sort_by_key(|statement| Reverse(statement.total));
        for statement in kept.iter().take(TOLD_MAX) {
            let labels = &[statement.text.as_str()];
            let total = statement.total.as_secs_f64();
            let longest = statement.longest.as_secs_f64();
            readings.put(&known::SLOW_STATEMENTS, labels, statement.count as f64);
            readings.put(&known::SLOW_STATEMENT_SECONDS, labels, total);
            readings.put(&known::SLOW_STATEMENT_LONGEST, labels, longest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SlowStatement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the text of a statement on one line, with `?` in the place of values, cut where it is long.
fn shown(sql: &str) -> String {
    let text = without_values(sql);
    let words = text.split(|char: char| char.is_whitespace() || char.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut text = words.join(" ");
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::metrics::Registry;
    use std::sync::Arc;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns the lines of values that a scrape has of them.
    fn told(statements: &Arc<SlowStatements>) -> Vec<String> {
        let registry = Registry::new(|_| ());
        let read = Arc::clone(statements);
        registry.collect(move |readings| read.read(readings));
        let text = registry.text();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn statements_are_added_up_by_their_texts_without_values() {
        let statements: Arc<SlowStatements> = Arc::default();
        statements.note("SELECT 1", Duration::from_micros(9_999));
        assert!(told(&statements).is_empty());
        statements.note("SELECT a\n\tFROM t WHERE b = 'secret'", millis(10));
        statements.note("SELECT a FROM t WHERE b = 'other'", millis(30));
        let label = "{statement=\"SELECT a FROM t WHERE b = ?\"}";
        assert_eq!(
            told(&statements),
            [
                format!("sampan_slow_statement_longest_seconds{label} 0.03"),
                format!("sampan_slow_statement_seconds_total{label} 0.04"),
                format!("sampan_slow_statements_total{label} 2"),
            ]
        );
    }

    #[test]
    fn those_with_the_most_time_are_kept_and_told() {
        let statements: Arc<SlowStatements> = Arc::default();
        let name = |at: u64| format!("SELECT {}", "x".repeat(at as usize + 1));
        for at in 0..KEPT_MAX as u64 + 50 {
            statements.note(&name(at), millis(1_000 - at));
            // It is used all the time.
            statements.note("SELECT often", millis(20));
        }
        assert_eq!(statements.lock().len(), KEPT_MAX);
        let lines = told(&statements);
        assert_eq!(lines.len(), 3 * TOLD_MAX);
        let has = |text: &str| {
            lines
                .iter()
                .any(|line| line.contains(&format!("\"{text}\"")))
        };
        assert!(
            has("SELECT often") && has(&name(0)) && !has(&name(30)),
            "{lines:#?}"
        );
    }

    #[test]
    fn texts_are_cut_between_characters_and_have_no_control_bytes() {
        assert_eq!(shown(" SELECT\0\r\n\u{1b}[2J \u{85} 'a' "), "SELECT [? ?");
        for long in ["ä".repeat(TEXT_BYTES_MAX), format!("x{}", "ä".repeat(150))] {
            let text = shown(&long);
            assert!(text.len() <= TEXT_BYTES_MAX + '…'.len_utf8(), "{text}");
            assert!(text.ends_with("ä…"), "{text}");
        }
        let statements = SlowStatements::default();
        statements.note("", Duration::MAX);
        statements.note("", Duration::MAX);
        assert_eq!(statements.lock()[0].count, 2);
    }
}
