//! Statements of SQL as errors show them, and places in them.

/// The most characters of a statement that an error message shows.
const SHOWN_CHARS_MAX: usize = 200;

/// Returns a message with the statement behind it, shortened to one line: `no such table: t (in: SELECT * FROM t)`.
pub fn with_statement(message: &str, sql: &str) -> String {
    let shown = shorten(sql);
    if shown.is_empty() {
        return message.to_owned();
    }
    format!("{message} (in: {shown})")
}

/// Returns the statement on one line, at most [`SHOWN_CHARS_MAX`] characters of it. Control characters become spaces.
fn shorten(sql: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    let mut gap = false;
    for char in sql.chars() {
        if char.is_whitespace() || char.is_control() {
            gap = count > 0;
            continue;
        }
        let needed = 1 + usize::from(gap);
        if count + needed > SHOWN_CHARS_MAX {
            shown.push('…');
            break;
        }
        if gap {
            shown.push(' ');
            gap = false;
        }
        shown.push(char);
        count += needed;
    }
    shown
}

/// Returns the line and the column of a byte of the statement, both from 1 and in characters.
pub fn position(sql: &str, offset: usize) -> (usize, usize) {
    let before = &sql.as_bytes()[..offset.min(sql.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    // Bytes that continue a character are none of their own.
    let is_start = |byte: &&u8| **byte & 0xC0 != 0x80;
    let column = 1 + before[line_start..].iter().filter(is_start).count();
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_shown_on_one_line_and_cut() {
        assert_eq!(shorten("  SELECT\n\t1,\u{0}  2 "), "SELECT 1, 2");
        assert_eq!(shorten(" \n"), "");
        let exact = "ä".repeat(SHOWN_CHARS_MAX);
        assert_eq!(shorten(&exact), exact);
        let cut = shorten(&format!("{exact}x"));
        assert_eq!(cut.chars().count(), SHOWN_CHARS_MAX + 1);
        assert!(cut.ends_with('…'));
        assert!(shorten(&"a ".repeat(1000)).chars().count() <= SHOWN_CHARS_MAX + 1);
    }

    #[test]
    fn a_position_counts_characters_from_one() {
        assert_eq!(position("SELECT", 0), (1, 1));
        assert_eq!(position("SELECT 'ä' x", 11), (1, 11));
        assert_eq!(position("a\nbc\nd", 5), (3, 1));
        assert_eq!(position("ä\nöä x", 8), (2, 4));
        assert_eq!(position("a", 99), (1, 2));
    }
}
