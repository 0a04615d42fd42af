//! The text of events, as the HTML standard defines it (section 9.2.5, "Parsing an event stream").

use crate::error::Error;

/// A comment, which keeps a silent connection open.
pub const HEARTBEAT: &[u8] = b":\n\n";

/// The fields of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The name; browsers call it `message` where there is none.
    pub event: Option<&'a str>,
    /// The content. Its lines are sent as lines of their own.
    pub data: Option<&'a str>,
    /// The id that a client names when it connects again.
    pub id: Option<&'a str>,
    /// The time after which a client connects again, in milliseconds.
    pub retry: Option<u64>,
}

/// Returns the lines that tell a client when to connect again.
pub fn retry(millis: u64) -> Vec<u8> {
    format!("retry: {millis}\n\n").into_bytes()
}

impl Event<'_> {
    /// Appends the event.
    ///
    /// # Errors
    /// The name or the id has a CR, LF or NUL.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        for (name, value) in [("event", self.event), ("id", self.id)] {
            let Some(value) = value else { continue };
            if value.contains(['\r', '\n', '\0']) {
                return Err(Error::script(format!(
                    "{name} must not have line ends or NUL, as {value:?} has"
                )));
            }
            write_line(out, name, value);
        }
        if let Some(retry) = self.retry {
            write_line(out, "retry", &retry.to_string());
        }
        if let Some(data) = self.data {
            each_line(data, |line| write_line(out, "data", line));
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Appends a comment, whose lines are lines of their own. Clients do not see it.
pub(super) fn write_comment(out: &mut Vec<u8>, text: &str) {
    each_line(text, |line| write_line(out, "", line));
    out.push(b'\n');
}

fn write_line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Shows each line of a text. They end as the standard has it: in LF, CR or both.
fn each_line(text: &str, mut see: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        see(&rest[..at]);
        let end = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + end..];
    }
    see(rest);
}

impl<'a> Event<'a> {
    /// Returns the lines of a comment.
    pub fn comment(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write_comment(&mut out, text);
        out
    }

    /// Returns the event as bytes.
    ///
    /// # Errors
    /// As for [`Event::write`].
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.write(&mut out)?;
        Ok(out)
    }

    /// An event that has content only.
    pub fn of(data: &'a str) -> Self {
        Self {
            data: Some(data),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(event: Event<'_>) -> String {
        String::from_utf8(event.bytes().expect("an event")).expect("UTF-8")
    }

    #[test]
    fn lines_of_data_are_lines_of_their_own() {
        assert_eq!(text(Event::of("a")), "data: a\n\n");
        assert_eq!(
            text(Event::of("a\nb\r\nc\rd\n")),
            "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
        );
        assert_eq!(text(Event::of("")), "data: \n\n");
        let whole = Event {
            event: Some("e"),
            data: Some("d"),
            id: Some(""),
            retry: Some(5),
        };
        assert_eq!(text(whole), "event: e\nid: \nretry: 5\ndata: d\n\n");
        assert_eq!(Event::comment("x\ny"), b": x\n: y\n\n");
    }

    #[test]
    fn names_and_ids_cannot_begin_another_line() {
        for bad in ["a\nb", "a\rb", "a\0b"] {
            let named = Event {
                event: Some(bad),
                ..Event::default()
            };
            let known = Event {
                id: Some(bad),
                ..Event::default()
            };
            assert!(named.bytes().is_err() && known.bytes().is_err(), "{bad:?}");
        }
    }
}
