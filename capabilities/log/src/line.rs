//! How a line of the log looks: `2026-11-21T05:00:00.000Z INFO message key=value`.

use sampan_host::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// How deeply a logged value may nest before the rest is left out.
const DEPTH_MAX: usize = 16;
/// The longest message or field that is written whole, in bytes; what is beyond is cut.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Appends a moment, given since 1970, as RFC 3339 with milliseconds.
pub(crate) fn time(out: &mut String, since_1970: Duration) {
    let seconds = since_1970.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since_1970.subsec_millis();
    let _ = write!(
        out,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"
    );
}

/// The Gregorian date of a day counted from 1970-01-01, reckoned in years that begin in March, so that the leap day is
/// the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    /// Days in 400 years, after which the calendar repeats.
    const ERA_DAYS: u64 = 146_097;
    let since_march_0000 = days + 719_468;
    let era = since_march_0000 / ERA_DAYS;
    let day_of_era = since_march_0000 % ERA_DAYS;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Appends a message: text as it is but for control characters, anything else as JSON.
pub(crate) fn message(out: &mut String, value: &Value) {
    match value {
        Value::Text(text) => escaped(out, text),
        Value::Bytes(bytes) => escaped(out, &String::from_utf8_lossy(bytes)),
        other => as_json(out, other),
    }
}

/// Appends ` key=value`; text is quoted where it would not read as one word.
pub(crate) fn field(out: &mut String, key: &str, value: &Value) {
    out.push(' ');
    escaped(out, key);
    out.push('=');
    match value {
        Value::Text(text) if is_one_word(text) => out.push_str(text),
        Value::Bytes(bytes) => as_json(
            out,
            &Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ),
        other => as_json(out, other),
    }
}

fn is_one_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= TEXT_BYTES_MAX
        && text
            .chars()
            .all(|c| !c.is_whitespace() && !c.is_control() && c != '"' && c != '=')
}

fn as_json(out: &mut String, value: &Value) {
    let mut bytes = Vec::new();
    match json::write_value(&mut bytes, value, DEPTH_MAX) {
        Ok(()) => escaped(out, &String::from_utf8_lossy(&bytes)),
        Err(error) => {
            let _ = write!(out, "<{}>", error.message());
        }
    }
}

/// Appends text with its control characters escaped: one message is one line, and cannot steer a terminal.
fn escaped(out: &mut String, text: &str) {
    for (index, c) in text.char_indices() {
        if index >= TEXT_BYTES_MAX {
            out.push('…');
            return;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> String {
        let mut out = String::new();
        time(&mut out, Duration::from_millis(seconds * 1000 + 7));
        out
    }

    #[test]
    fn dates_are_right_at_the_edges_of_the_calendar() {
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59.007Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.007Z");
    }

    #[test]
    fn a_message_stays_on_its_line() {
        let mut out = String::new();
        message(&mut out, &"a\nb\u{1b}[2J".into());
        assert_eq!(out, "a\\nb\\u{1b}[2J");
        out.clear();
        message(&mut out, &Value::List(vec![1.into(), "x".into()]));
        assert_eq!(out, r#"[1,"x"]"#);
        out.clear();
        message(&mut out, &"é".repeat(TEXT_BYTES_MAX).into());
        assert!(out.len() < TEXT_BYTES_MAX + 8 && out.ends_with('…'));
    }

    #[test]
    fn fields_are_words_or_quoted() {
        let mut out = String::new();
        for (key, value) in [
            ("user", Value::from("ann")),
            ("note", "two words".into()),
            ("n", 3.into()),
            ("none", Value::Null),
        ] {
            field(&mut out, key, &value);
        }
        assert_eq!(out, " user=ann note=\"two words\" n=3 none=null");
    }
}
