//! Bodies of `multipart/form-data`: RFC 7578 in the framing of RFC 2046, section 5.1.
//!
//! Lines end with CRLF only. What a browser, curl or another fetch sends is taken; anything out of form is an error for
//! the whole body, never a guess. The bytes come in pieces of any size.

use memchr::memmem::Finder;

/// The header lines of one part together.
const PART_HEAD_BYTES_MAX: usize = 8_192;
/// RFC 2046, section 5.1.1.
const BOUNDARY_BYTES_MAX: usize = 70;
/// Blanks that may follow a boundary on its line.
const PADDING_BYTES_MAX: usize = 256;

/// The header lines of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHead {
    /// The name of the field.
    pub name: String,
    /// The name of the file as the client sent it, if the part is one.
    pub filename: Option<String>,
    /// The content type. A file has one in any case.
    pub content_type: Option<String>,
}

/// The next event in a body.
#[derive(Debug, PartialEq, Eq)]
pub enum MultipartEvent<'a> {
    /// A part begins.
    Part(PartHead),
    /// Bytes of its content.
    Content(&'a [u8]),
    /// The part has ended.
    PartEnd,
    /// The last part has ended. What follows means nothing.
    End,
}

/// Reads a body piece by piece.
pub struct Multipart {
    /// `\r\n--boundary`
    delimiter: Finder<'static>,
    /// The unread bytes, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the first delimiter, or inside of a part.
    Before,
    Content,
    /// Behind a delimiter: `--` ends the body, a line end begins a part.
    Delimiter,
    Head,
    End,
}

impl Multipart {
    /// A reader for a body with this content type.
    ///
    /// # Errors
    /// The fault of its boundary.
    pub fn new(content_type: &str) -> Result<Self, String> {
        let boundary = boundary_of(content_type)?;
        let delimiter = format!("\r\n--{boundary}");
        Ok(Self {
            delimiter: Finder::new(delimiter.as_bytes()).into_owned(),
            // The first delimiter has no line before it.
            buffer: b"\r\n".to_vec(),
            start: 0,
            state: State::Before,
        })
    }

    /// Adds a piece of the body.
    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.state != State::End {
            self.buffer.extend_from_slice(piece);
        }
    }

    /// Reports whether the body has ended as it should.
    ///
    /// # Errors
    /// It has not.
    pub fn check_end(&self) -> Result<(), String> {
        match self.state {
            State::End => Ok(()),
            _ => Err("the body ends without its last boundary".to_owned()),
        }
    }

    /// Returns the next event; `None` if that takes another piece.
    ///
    /// # Errors
    /// The malformed part.
    pub fn next_event(&mut self) -> Result<Option<MultipartEvent<'_>>, String> {
        loop {
            let rest = &self.buffer[self.start..];
            match self.state {
                State::End => return Ok(None),
                State::Before => {
                    let delimiter = self.delimiter.needle();
                    // Some clients send an empty line first.
                    let rest = match rest {
                        [b'\r', b'\n', b'\r', b'\n', ..] => &rest[2..],
                        b"\r\n" | b"\r\n\r" => return Ok(None),
                        rest => rest,
                    };
                    let known = rest.len().min(delimiter.len());
                    if rest[..known] != delimiter[..known] {
                        return Err("the body does not begin with its boundary".to_owned());
                    }
                    if known < delimiter.len() {
                        return Ok(None);
                    }
                    self.start = self.buffer.len() - rest.len() + known;
                    self.state = State::Delimiter;
                }
                State::Delimiter => {
                    if rest.starts_with(b"--") {
                        self.state = State::End;
                        return Ok(Some(MultipartEvent::End));
                    }
                    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
                    let blanks = rest.iter().take_while(is_blank).count();
                    let line_end = &rest[blanks..];
                    let known = line_end.len().min(2);
                    let may_end = blanks == 0 && rest == b"-";
                    if !may_end && line_end[..known] != b"\r\n"[..known]
                        || blanks > PADDING_BYTES_MAX
                    {
                        return Err("a boundary is not followed by a line end".to_owned());
                    }
                    if known < 2 {
                        return Ok(None);
                    }
                    self.start += blanks + 2;
                    self.state = State::Head;
                }
                State::Head => {
                    let known = &rest[..rest.len().min(PART_HEAD_BYTES_MAX)];
                    let Some(end) = memchr::memmem::find(known, b"\r\n\r\n") else {
                        if known.len() < PART_HEAD_BYTES_MAX {
                            return Ok(None);
                        }
                        return Err("the header lines of a part are too long".to_owned());
                    };
                    let head = part_head(&rest[..end])?;
                    // The line end before the delimiter may be that of the empty line.
                    self.start += end + 4;
                    self.state = State::Content;
                    return Ok(Some(MultipartEvent::Part(head)));
                }
                State::Content => {
                    let from = self.start;
                    let length = self.delimiter.needle().len();
                    match self.delimiter.find(rest) {
                        Some(0) => {
                            self.start += length;
                            self.state = State::Delimiter;
                            return Ok(Some(MultipartEvent::PartEnd));
                        }
                        Some(end) => self.start += end,
                        // The delimiter may have begun.
                        None if rest.len() >= length => self.start = self.buffer.len() - length + 1,
                        None => return Ok(None),
                    }
                    return Ok(Some(MultipartEvent::Content(
                        &self.buffer[from..self.start],
                    )));
                }
            }
        }
    }
}

/// The boundary parameter of a Content-Type.
///
/// # Errors
/// There is none, or it is too long.
pub fn boundary_of(content_type: &str) -> Result<String, String> {
    let parameters = content_type.split_once(';').map_or("", |(_, rest)| rest);
    let boundary = parameter(parameters, "boundary").unwrap_or_default();
    if boundary.is_empty() || boundary.len() > BOUNDARY_BYTES_MAX {
        return Err(format!(
            "the Content-Type needs a boundary of 1 to {BOUNDARY_BYTES_MAX} bytes"
        ));
    }
    Ok(boundary)
}

/// Reads the header lines of a part; those other than the two below mean nothing in a form.
///
/// # Errors
/// The malformed part.
pub fn part_head(head: &[u8]) -> Result<PartHead, String> {
    let head = String::from_utf8_lossy(head);
    let mut disposition = None;
    let mut content_type = None;
    for line in head.split("\r\n") {
        let (name, value) = line
            .split_once(':')
            .ok_or("a header line of a part has no colon")?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition = Some(value.trim());
        } else if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value.trim().to_owned());
        }
    }
    let (kind, parameters) = disposition
        .and_then(|value| value.split_once(';'))
        .ok_or("a part has no name")?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err("a part is not form-data".into());
    }
    let name = parameter(parameters, "name").ok_or("a part has no name")?;
    // A part that only has the extended form is a file too; it is the better one of both (RFC 6266 section 4.3).
    let extended = parameter(parameters, "filename*").and_then(|value| extended_text(&value));
    let filename = parameter(parameters, "filename").map(|name| unescape(&name));
    let filename = extended.or(filename);
    let content_type = match filename {
        // RFC 7578, section 4.4.
        Some(_) => content_type.or_else(|| Some("text/plain".to_owned())),
        None => content_type,
    };
    Ok(PartHead {
        name: unescape(&name),
        filename,
        content_type,
    })
}

/// The text of an extended parameter, `UTF-8''na%C3%AFve.txt` (RFC 8187 section 3.2). `None` where it is in another
/// encoding or out of form.
fn extended_text(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let charset = parts.next()?;
    let (_language, encoded) = (parts.next()?, parts.next()?);
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut left = encoded.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(left.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// One parameter of `; name="value"; name=value`. `\"` is the only escape inside quotes (others are file paths).
fn parameter(mut text: &str, wanted: &str) -> Option<String> {
    loop {
        text = text.trim_start_matches([';', ' ', '\t']);
        let (name, rest) = text.split_once('=')?;
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = rest.find(';').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        text = rest;
    }
}

/// The text up to the closing quote, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' if text[at + 1..].starts_with('"') => {
                value.push('"');
                chars.next();
            }
            _ => value.push(c),
        }
    }
    None
}

/// Undoes the escaping of HTML's multipart encoding.
fn unescape(text: &str) -> String {
    text.replace("%22", "\"")
        .replace("%0D", "\r")
        .replace("%0A", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extended_name_of_a_file_is_read() {
        let name = |parameters: &str| {
            let head = format!("Content-Disposition: form-data; name=\"f\"{parameters}");
            part_head(head.as_bytes()).map(|head| head.filename)
        };
        for (parameters, expected) in [
            (
                "; filename*=UTF-8''na%C3%AFve%20plan.txt",
                Some("naïve plan.txt"),
            ),
            ("; filename*=utf-8'en'a.txt", Some("a.txt")),
            (
                "; filename=\"plain.txt\"; filename*=UTF-8''better.txt",
                Some("better.txt"),
            ),
            // Of another encoding, and out of form.
            (
                "; filename=\"plain.txt\"; filename*=ISO-8859-1''%E4",
                Some("plain.txt"),
            ),
            (
                "; filename=\"plain.txt\"; filename*=UTF-8''%E",
                Some("plain.txt"),
            ),
            ("; filename*=UTF-8''%FF", None),
            ("", None),
        ] {
            assert_eq!(
                name(parameters),
                Ok(expected.map(str::to_owned)),
                "{parameters}"
            );
        }
    }

    /// The names and contents of the parts, where the body comes in pieces of so many bytes.
    fn parts(body: &[u8], piece: usize) -> Result<Vec<(PartHead, Vec<u8>)>, String> {
        let mut reader = Multipart::new("multipart/form-data; boundary=X")?;
        let mut parts = Vec::new();
        for piece in body.chunks(piece) {
            reader.feed(piece);
            while let Some(event) = reader.next_event()? {
                match event {
                    MultipartEvent::Part(head) => parts.push((head, Vec::new())),
                    MultipartEvent::Content(bytes) => {
                        parts.last_mut().expect("a part").1.extend_from_slice(bytes);
                    }
                    MultipartEvent::PartEnd | MultipartEvent::End => {}
                }
            }
        }
        reader.check_end().map(|()| parts)
    }

    const BODY: &str = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n--X \t\r\ncontent-disposition: \
     form-data; \
                        name=\"f\"; filename=\"a\\\"%22b.txt\"\r\nContent-Type: \
                         image/png\r\n\r\n1\r\n--\r\n--Y\r\n--X--\r\nmore";

    #[test]
    fn pieces_of_any_size_give_the_same_parts() {
        let whole = parts(BODY.as_bytes(), BODY.len()).expect("a body");
        assert_eq!(whole.len(), 2);
        assert_eq!((&*whole[0].0.name, &*whole[0].1), ("a", &b""[..]));
        let file = &whole[1];
        assert_eq!(file.0.filename.as_deref(), Some("a\"\"b.txt"));
        assert_eq!(file.0.content_type.as_deref(), Some("image/png"));
        assert_eq!(file.1, b"1\r\n--\r\n--Y");
        for piece in 1..BODY.len() {
            assert_eq!(
                parts(BODY.as_bytes(), piece).as_ref(),
                Ok(&whole),
                "{piece}"
            );
        }
        let later = format!("\r\n{BODY}");
        for piece in 1..5 {
            assert_eq!(parts(later.as_bytes(), piece).as_ref(), Ok(&whole));
        }
        // With any number of bytes cut off at the end.
        let end = BODY.find("--\r\nmore").expect("the end");
        for length in 0..end {
            parts(&BODY.as_bytes()[..length], 7).expect_err("a body without an end");
        }
    }

    #[test]
    fn what_is_out_of_form_is_refused() {
        for (body, said) in [
            ("", "without its last boundary"),
            ("x--X--", "does not begin with its boundary"),
            ("--Y--", "does not begin with its boundary"),
            ("--Xx\r\n", "not followed by a line end"),
            ("--X-x", "not followed by a line end"),
            ("--X\r\n\r\nx\r\n--X--", "without its last boundary"),
            ("--X\r\nA: b\r\n\r\nx\r\n--X--", "a part has no name"),
            ("--X\r\nA\r\n\r\nx\r\n--X--", "has no colon"),
            (
                "--X\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--X--",
                "a part has no name",
            ),
            (
                "--X\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--X--",
                "is not form-data",
            ),
        ] {
            for piece in [1, 3, 1000] {
                let error = parts(body.as_bytes(), piece).expect_err(body);
                assert!(error.contains(said), "{body:?}: {error}");
            }
        }
        let long = format!("--X\r\nA: {}", "b".repeat(PART_HEAD_BYTES_MAX));
        let error = parts(long.as_bytes(), 100).expect_err("a long head");
        assert!(error.contains("too long"), "{error}");
        for content_type in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "a; boundary=\"",
        ] {
            assert!(Multipart::new(content_type).is_err(), "{content_type}");
        }
        let long = format!("a; boundary={}", "b".repeat(71));
        assert!(Multipart::new(&long).is_err());
    }
}
