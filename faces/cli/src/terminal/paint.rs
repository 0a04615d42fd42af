//! Colour, where a terminal shows it and it was not disabled (<https://no-color.org>).

use std::sync::LazyLock;

static WANTED: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()));

/// Reports whether what goes to a terminal, or to something else, has colours.
pub(crate) fn is_coloured(is_terminal: bool) -> bool {
    is_terminal && *WANTED
}

fn paint(text: &str, code: &str, is_terminal: bool) -> String {
    match is_coloured(is_terminal) {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

pub(crate) fn bold(text: &str, is_terminal: bool) -> String {
    paint(text, "1", is_terminal)
}

pub(crate) fn dim(text: &str, is_terminal: bool) -> String {
    paint(text, "2", is_terminal)
}

pub(crate) fn red(text: &str, is_terminal: bool) -> String {
    paint(text, "31", is_terminal)
}

pub(crate) fn yellow(text: &str, is_terminal: bool) -> String {
    paint(text, "33", is_terminal)
}

pub(crate) fn cyan(text: &str, is_terminal: bool) -> String {
    paint(text, "36", is_terminal)
}
