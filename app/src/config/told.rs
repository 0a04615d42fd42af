//! Faults of a configuration file in the words of who wrote it: the line, the key, the value, what is expected there.

/// Describes the fault in `text`, named `name`, in one line.
pub(super) fn fault(text: &str, name: &str, error: &toml::de::Error) -> String {
    let span = error.span().unwrap_or(0..0);
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    fault_from(text, &format!("{name}:{line}"), error)
}

/// Describes a fault in a text whose lines are not those of its author's file.
pub(super) fn fault_from(text: &str, origin: &str, error: &toml::de::Error) -> String {
    let span = error.span().unwrap_or(0..0);
    let before = text.get(..span.start).unwrap_or_default();
    let place = FaultPlace::of(text, before, text.get(span).unwrap_or_default());
    let message = error.message().replace('\n', " ");
    format!("{origin}: {}", place.told(&message))
}

/// The place of a fault in the file.
struct FaultPlace<'a> {
    /// The section with its brackets; empty above the first one.
    section: &'a str,
    key: &'a str,
    /// The faulty text, as written.
    written: &'a str,
}

impl<'a> FaultPlace<'a> {
    fn of(text: &'a str, before: &'a str, written: &'a str) -> Self {
        let begins = before.rfind('\n').map_or(0, |at| at + 1);
        let line = text[begins..].lines().next().unwrap_or_default();
        let section = before[..begins]
            .lines()
            .map(str::trim)
            .rfind(|line| line.starts_with('['));
        Self {
            section: section
                .and_then(|line| line.split_inclusive(']').next())
                .unwrap_or_default(),
            key: line.split('=').next().unwrap_or_default().trim(),
            written,
        }
    }

    fn told(&self, message: &str) -> String {
        let Self {
            section,
            key,
            written,
        } = self;
        let space = if section.is_empty() { "" } else { " " };
        if let Some(rest) = message.strip_prefix("unknown field `")
            && let Some((unknown, rest)) = rest.split_once('`')
        {
            let known = expected(rest).replace('`', "").replace(" or ", ", ");
            let known = known.strip_prefix("one of ").unwrap_or(&known);
            return if key.starts_with('[') || section.is_empty() {
                format!("there is no section or key \"{unknown}\" here; the sections are {known}")
            } else {
                format!("{section} has no key \"{unknown}\"; it has {known}")
            };
        }
        // Nobody wants to read a secret in a log.
        let written = match section.starts_with("[secrets]") {
            true => "...",
            false => written,
        };
        for start in ["invalid type: ", "invalid value: ", "unknown variant "] {
            if let Some(rest) = message.strip_prefix(start) {
                let wanted = in_words(expected(rest));
                return if key.starts_with('[') {
                    format!("{key}: {wanted} is expected")
                } else {
                    format!("{section}{space}{key} = {written}: {wanted} is expected")
                };
            }
        }
        message.to_owned()
    }
}

/// Returns the text that follows "expected" in a message of the reader.
fn expected(message: &str) -> &str {
    message
        .split_once(", expected ")
        .map_or(message, |(_, expected)| expected)
}

/// A type of ours as something that can be written.
fn in_words(expected: &str) -> String {
    match expected {
        "usize" | "u64" | "u32" => "a whole number from 0".into(),
        "i32" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "path string" => "text in quotes".into(),
        "a sequence" => "a list such as [\"one\", \"two\"]".into(),
        _ if expected.starts_with("struct ") => {
            "a section with keys of its own, such as [server]".into()
        }
        _ => expected.trim_start_matches("one of ").replace('`', "\""),
    }
}
