//! The preferences of a client: content codings (`Accept-Encoding`, RFC 9110 section 12.5.3), and the weights in all
//! such fields.

/// A content coding that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// gzip.
    Gzip,
}

impl Coding {
    /// All of them, the ones that make text smaller first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Returns the name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// A quality, in thousandths.
pub type Quality = u16;

/// The highest quality, which everything has unless the client says less.
pub const FULL_QUALITY: Quality = 1000;

/// The content codings that a client accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCodings {
    named: [Option<Quality>; Coding::ALL.len()],
    identity: Option<Quality>,
    others: Option<Quality>,
}

impl AcceptedCodings {
    /// The field that says it, in small letters.
    pub const FIELD: &str = "accept-encoding";

    /// Parses the header fields of a request say. Where a coding is named twice the last one counts; what is malformed
    /// counts for nothing.
    pub fn of<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut accepted = Self::default();
        for (name, line) in fields {
            if name.eq_ignore_ascii_case(Self::FIELD) {
                accepted.add(line);
            }
        }
        accepted
    }

    fn add(&mut self, line: &[u8]) {
        for item in line.split(|byte| *byte == b',') {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let Some(quality) = parts.next().map_or(Some(FULL_QUALITY), quality) else {
                continue;
            };
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            if is("*") {
                self.others = Some(quality);
            } else if is("identity") {
                self.identity = Some(quality);
            } else if is("x-gzip") {
                self.named[Coding::Gzip as usize] = Some(quality);
            } else if let Some(coding) = Coding::ALL.iter().find(|coding| is(coding.name())) {
                self.named[*coding as usize] = Some(quality);
            }
        }
    }

    /// The coding to send of those that there are, where `None` is none at all: that with the highest quality, and the
    /// first of these where several have it. An error where the client accepts neither one of them nor an answer
    /// without a coding.
    ///
    /// # Errors
    /// Nothing that there is is acceptable.
    pub fn choose(&self, there: &[Coding]) -> Result<Option<Coding>, NotAcceptable> {
        let mut best: Option<(Quality, Coding)> = None;
        for coding in there {
            let quality = self.named[*coding as usize].or(self.others).unwrap_or(0);
            if quality > best.map_or(0, |(best, _)| best) {
                best = Some((quality, *coding));
            }
        }
        // Without a word about it no coding is acceptable, but less so than what is named.
        let identity = self
            .identity
            .or(self.others.filter(|quality| *quality == 0));
        match (best, identity) {
            (Some((quality, _)), Some(plain)) if plain > quality => Ok(None),
            (Some((_, coding)), _) => Ok(Some(coding)),
            (None, Some(0)) => Err(NotAcceptable),
            (None, _) => Ok(None),
        }
    }
}

/// The client refuses all that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAcceptable;

/// Parses a weight such as `q=0.5`, with up to three digits (RFC 9110 section 12.4.2). `None` where it is not a weight.
pub fn quality(parameter: &[u8]) -> Option<Quality> {
    let text = std::str::from_utf8(parameter).ok()?;
    let (name, value) = text.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let (whole, digits) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{digits:0<3}").parse::<Quality>().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(FULL_QUALITY),
        _ => None,
    }
}

/// Reports whether an `Accept` (RFC 9110 section 12.5.1) prefers HTML to JSON, as that of a browser does when it loads
/// a page. Ranges such as `*/*`
/// count for nothing: programs send them.
pub fn prefers_html(accept: &[u8]) -> bool {
    let [mut html, mut json] = [0, 0];
    for item in accept.split(|byte| *byte == b',') {
        let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(quality).unwrap_or(FULL_QUALITY);
        if name.eq_ignore_ascii_case(b"text/html") {
            html = weight;
        } else if name.eq_ignore_ascii_case(b"application/json") {
            json = weight;
        }
    }
    html > 0 && html >= json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(line: &str, there: &[Coding]) -> Result<Option<Coding>, NotAcceptable> {
        let fields = [("Accept-Encoding", line.as_bytes())];
        AcceptedCodings::of(fields.into_iter()).choose(there)
    }

    #[test]
    fn browsers_prefer_html_and_programs_do_not() {
        for (line, expected) in [
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                true,
            ),
            ("TEXT/HTML;level=1;q=0.5", true),
            ("application/json, text/html", true),
            ("application/json, text/html;q=0.9", false),
            ("text/html;q=0", false),
            ("application/json", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(prefers_html(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn the_best_of_what_is_accepted_is_sent() {
        use Coding::{Brotli, Gzip, Zstd};
        for (line, there, expected) in [
            ("", &[Brotli][..], Ok(None)),
            (
                "gzip, deflate, br, zstd",
                &[Brotli, Zstd, Gzip],
                Ok(Some(Brotli)),
            ),
            ("gzip, deflate, br, zstd", &[Gzip], Ok(Some(Gzip))),
            ("gzip, deflate, br, zstd", &[], Ok(None)),
            ("GZIP;Q=0.5 , br ; q=0.25", &[Brotli, Gzip], Ok(Some(Gzip))),
            ("x-gzip", &[Gzip], Ok(Some(Gzip))),
            ("br;q=0, gzip", &[Brotli, Gzip], Ok(Some(Gzip))),
            ("br;q=0", &[Brotli], Ok(None)),
            ("*", &[Zstd], Ok(Some(Zstd))),
            ("*;q=0, gzip", &[Brotli, Gzip], Ok(Some(Gzip))),
            ("*;q=0, gzip", &[Brotli], Err(NotAcceptable)),
            ("*;q=0", &[], Err(NotAcceptable)),
            ("*;q=0, identity", &[Brotli], Ok(None)),
            ("identity;q=0", &[], Err(NotAcceptable)),
            ("identity;q=0", &[Brotli], Err(NotAcceptable)),
            ("identity;q=0, br", &[Brotli], Ok(Some(Brotli))),
            ("identity;q=0, *", &[Gzip], Ok(Some(Gzip))),
            ("identity, br;q=0.9", &[Brotli], Ok(None)),
            ("identity;q=0.5, br;q=0.5", &[Brotli], Ok(Some(Brotli))),
            ("gzip;q=1.001", &[Gzip], Ok(None)),
            ("gzip;q=0.0001", &[Gzip], Ok(None)),
            ("gzip;q=-1, gzip;q=, gzip;x=1", &[Gzip], Ok(None)),
            ("gzip;q=1.000", &[Gzip], Ok(Some(Gzip))),
            ("gzip;q=0, gzip", &[Gzip], Ok(Some(Gzip))),
        ] {
            assert_eq!(chosen(line, there), expected, "{line} of {there:?}");
        }
    }

    #[test]
    fn several_lines_are_one() {
        let fields = [
            ("accept-encoding", &b"identity;q=0"[..]),
            ("accept", b"gzip;q=0"),
            ("ACCEPT-ENCODING", b"gzip;q=0.1"),
        ];
        let accepted = AcceptedCodings::of(fields.into_iter());
        assert_eq!(accepted.choose(&[Coding::Gzip]), Ok(Some(Coding::Gzip)));
        assert_eq!(accepted.choose(&[]), Err(NotAcceptable));
    }
}
