//! Values as `sampan top` shows them.

use unicode_width::UnicodeWidthChar;

/// Cuts a line to a width. The codes of colours take no room.
pub(super) fn cut(line: &str, width: usize) -> String {
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
pub(super) fn count(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        _ if number < 10.0 => format!("{number:.1}"),
        _ if number < 10_000.0 => format!("{number:.0}"),
        _ if number < 1e6 => format!("{:.1}k", number / 1e3),
        _ => format!("{:.1}M", number / 1e6),
    }
}

/// A time in seconds, short.
pub(super) fn time(seconds: Option<f64>) -> String {
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

/// A number of bytes, short.
pub(super) fn bytes(number: f64) -> String {
    match number {
        _ if number < 1024.0 * 1024.0 => format!("{:.0} KiB", number / 1024.0),
        _ if number < 1024.0 * 1024.0 * 1024.0 => format!("{:.1} MiB", number / 1048576.0),
        _ => format!("{:.1} GiB", number / 1073741824.0),
    }
}

/// A time in seconds that may be long.
pub(super) fn age(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60) {
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
