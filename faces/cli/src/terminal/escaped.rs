//! Texts of others, such as data of users, without characters that act on a terminal.

/// Returns the text in one line: its control characters are written out.
pub(crate) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        push(&mut shown, one);
    }
    shown
}

/// Returns the text with its control characters written out, but for line feeds and tabs.
pub(crate) fn lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '\n' | '\t' => shown.push(one),
            one => push(&mut shown, one),
        }
    }
    shown
}

/// Adds a character. A control character is written out, as in `\u{1b}`.
pub(crate) fn push(shown: &mut String, one: char) {
    match one.is_control() {
        true => shown.extend(one.escape_default()),
        false => shown.push(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(line("a\n\x1b[2Jä\u{9b}"), "a\\n\\u{1b}[2Jä\\u{9b}");
        assert_eq!(lines("a\n\tb\x07"), "a\n\tb\\u{7}");
    }
}
