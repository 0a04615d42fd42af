//! The parts of patterns, and their notation.
//!
//! `:name` begins a parameter at the front of a part, and behind any character that cannot end a word: `@:user`,
//! `:name.:ext`. Directly behind a letter, a digit, `_`, `:` or `}` a colon is text: `items:batch`, `:id:cancel`.
//! `{:name}` is a parameter everywhere, and `%3A` is always a colon. Two more places know these rules: `ColonName` in
//! the declarations for TypeScript, and `namesOf` of the package for Node.js.

use super::mixed::MixedPart;
use super::normal_form::{decoded, normal_form};

/// One part of a pattern, between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Matches itself; in normal form.
    Literal(String),
    /// Text and parameters: matches a segment that has the same text around values that are not empty.
    Mixed(MixedPart),
    /// `:name`: matches one segment that is not empty.
    Param(String),
    /// `*name`, or a bare `*`, whose name is `*`: matches all that is left, also nothing.
    Rest(String),
}

/// A piece of a part, as it is written.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    /// The name of a parameter.
    Param(&'a str),
}

impl Segment {
    /// Takes one part of `pattern` apart. The error says what is wrong with it.
    pub(super) fn parse(part: &str, pattern: &str) -> Result<Self, String> {
        if let Some(name) = part.strip_prefix('*') {
            return match name {
                "" => Ok(Self::Rest("*".into())),
                name if name_at(name) == name => Ok(Self::Rest(name.to_owned())),
                _ => Err(wrong_name(pattern)),
            };
        }
        let pieces = pieces(part, pattern)?;
        for piece in &pieces {
            if let Piece::Text(text) = piece {
                check_text(text, pattern)?;
            }
        }
        Ok(match &pieces[..] {
            [Piece::Param(name)] => Self::Param((*name).to_owned()),
            [] | [Piece::Text(_)] => {
                if matches!(part, "." | "..") {
                    return Err(format!(
                        "the pattern {pattern:?} has a part '.' or '..': clients resolve it before they ask"
                    ));
                }
                Self::Literal(literal(part))
            }
            pieces => {
                let mut mixed = MixedPart::default();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => mixed.push_text(&literal(text)),
                        Piece::Param(name) => mixed.push_param(name),
                    }
                }
                Self::Mixed(mixed)
            }
        })
    }

    /// The names of the parameters, in order.
    pub(super) fn params(&self) -> Vec<&str> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Mixed(mixed) => mixed.names().collect(),
            Self::Param(name) | Self::Rest(name) => vec![name],
        }
    }
}

/// The name of a parameter at the front of a text; empty where there is none.
fn name_at(text: &str) -> &str {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let end = text.bytes().position(|b| !is_name(b));
    &text[..end.unwrap_or(text.len())]
}

/// Reports whether a colon behind this character is text.
fn ends_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '}')
}

/// Returns the words behind colons that are text, as `batch` of `/items:batch`: elsewhere these are parameters.
pub fn words_behind_colons(pattern: &str) -> impl Iterator<Item = &str> {
    let colons = pattern.match_indices(':').filter(move |(at, _)| {
        let before = pattern[..*at].chars().next_back();
        before.is_some_and(ends_word)
    });
    let words = colons.map(move |(at, _)| name_at(&pattern[at + 1..]));
    words.filter(|word| !word.is_empty())
}

/// Takes a part apart into text and parameters, between which there is text.
fn pieces<'a>(part: &'a str, pattern: &str) -> Result<Vec<Piece<'a>>, String> {
    let mut pieces = Vec::new();
    // The end of the last parameter, and where to look for the next.
    let (mut taken, mut from) = (0, 0);
    while let Some(at) = part[from..].find(':').map(|at| from + at) {
        let name = name_at(&part[at + 1..]);
        let before = part[..at].chars().next_back();
        let is_braced = before == Some('{');
        let (start, end) = match is_braced {
            true => (at - 1, at + 1 + name.len() + 1),
            false => (at, at + 1 + name.len()),
        };
        if is_braced && (name.is_empty() || !part[end - 1..].starts_with('}')) {
            return Err(format!(
                "in the pattern {pattern:?}, '{{:' begins a parameter, which ends with '}}' behind its name: {{:name}}"
            ));
        }
        if name.is_empty() && at == 0 {
            return Err(wrong_name(pattern));
        }
        if name.is_empty() || before.is_some_and(ends_word) {
            // A colon of the text.
            from = at + 1;
            continue;
        }
        if start == taken && taken > 0 {
            return Err(format!(
                "in the pattern {pattern:?}, two parameters have no text between them"
            ));
        }
        check_behind(&part[end..], is_braced, pattern)?;
        if start > taken {
            pieces.push(Piece::Text(&part[taken..start]));
        }
        pieces.push(Piece::Param(name));
        (taken, from) = (end, end);
    }
    if taken < part.len() {
        pieces.push(Piece::Text(&part[taken..]));
    }
    Ok(pieces)
}

/// Refuses what elsewhere is an expression or a modifier behind a parameter, and a letter that no name has.
fn check_behind(behind: &str, is_braced: bool, pattern: &str) -> Result<(), String> {
    match behind.chars().next() {
        Some(c) if !is_braced && c.is_alphanumeric() => Err(wrong_name(pattern)),
        // The next parameter, which is refused for its place.
        Some('{') if behind.starts_with("{:") => Ok(()),
        Some(c @ ('(' | ')' | '[' | '{' | '}' | '?' | '+' | '*')) => Err(format!(
            "in the pattern {pattern:?}, a parameter has '{c}' behind it: it matches any text and is never optional; \
             check its value in the handler, or declare two routes"
        )),
        _ => Ok(()),
    }
}

fn wrong_name(pattern: &str) -> String {
    format!(
        "in the pattern {pattern:?}, the name of a parameter is made of letters, digits and '_'"
    )
}

/// Refuses what no request's path has, or none that a client means.
fn check_text(text: &str, pattern: &str) -> Result<(), String> {
    let fault = if text.contains('?') {
        "has a '?': a pattern matches the path only, and the query is in req.query"
    } else if text.contains('#') {
        "has a '#': clients do not send what follows it"
    } else if text.contains(char::is_control) {
        "has a control character"
    } else if text.contains('*') {
        "has a '*' inside of a part: it stands alone or before a name, as in /files/*rest"
    } else if text
        .split('%')
        .skip(1)
        .any(|after| decoded(after.as_bytes()).is_none())
    {
        "has a '%' without two hexadecimal digits: write the character itself, or %25 for '%'"
    } else {
        return Ok(());
    };
    Err(format!("the pattern {pattern:?} {fault}"))
}

/// Text of a pattern as it stands in paths: what a path cannot hold is percent-encoded.
fn literal(text: &str) -> String {
    normal_form(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part in one notation: every parameter in braces, and every colon of a text encoded.
    fn shown(part: &str) -> String {
        match Segment::parse(part, part) {
            Ok(Segment::Literal(text)) => text.replace(':', "%3A"),
            Ok(Segment::Mixed(mixed)) => {
                let mut out = mixed.head().replace(':', "%3A");
                for (name, text) in mixed.params() {
                    out += &format!("{{:{name}}}{}", text.replace(':', "%3A"));
                }
                out
            }
            Ok(Segment::Param(name)) => format!("{{:{name}}}"),
            Ok(Segment::Rest(name)) => format!("*{name}"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_colon_begins_a_parameter_unless_a_word_ends_before_it() {
        for (part, expected) in [
            ("", ""),
            ("a", "a"),
            (":id", "{:id}"),
            ("{:id}", "{:id}"),
            ("*", "**"),
            ("*rest", "*rest"),
            (":id.pdf", "{:id}.pdf"),
            ("@:user", "@{:user}"),
            ("v{:major}", "v{:major}"),
            ("{:w}x{:h}", "{:w}x{:h}"),
            (":name.:ext", "{:name}.{:ext}"),
            (":a-:b_c.d", "{:a}-{:b_c}.d"),
            ("-:7", "-{:7}"),
            ("items%3Abatch", "items%3Abatch"),
            (":id%3acancel", "{:id}%3Acancel"),
            // Behind what ends a word it is text.
            ("items:batch", "items%3Abatch"),
            (":id:cancel", "{:id}%3Acancel"),
            ("{:id}:cancel", "{:id}%3Acancel"),
            ("12:30", "12%3A30"),
            ("a_:b", "a_%3Ab"),
            ("a::b", "a%3A%3Ab"),
            ("ü:b", "%C3%BC%3Ab"),
            ("%40:x", "@%3Ax"),
            ("{id}:x", "%7Bid%7D%3Ax"),
            ("items:{:verb}", "items%3A{:verb}"),
            (":id:b.:ext", "{:id}%3Ab.{:ext}"),
            // No name follows.
            ("urn:", "urn%3A"),
            ("a:-b", "a%3A-b"),
            (":id:", "{:id}%3A"),
            ("a::", "a%3A%3A"),
            // Braces are text elsewhere.
            ("{id}", "%7Bid%7D"),
            ("{", "%7B"),
            ("é-:x ü", "%C3%A9-{:x}%20%C3%BC"),
            ("(:a", "({:a}"),
        ] {
            assert_eq!(shown(part), expected, "{part}");
        }
    }

    #[test]
    fn words_behind_colons_of_the_text_are_found() {
        for (pattern, words) in [
            ("/v:major/:id", &["major"][..]),
            ("/items/:id:cancel", &["cancel"]),
            ("/a:b:c/d:/e:-f", &["b", "c"]),
            ("h.example/:a/v{:b}/@:c/d%3Ae", &[]),
            ("*", &[]),
        ] {
            let found: Vec<&str> = words_behind_colons(pattern).collect();
            assert_eq!(found, words, "{pattern}");
        }
    }

    #[test]
    fn hostile_parts_are_refused() {
        for (part, message) in [
            (":", "letters, digits and '_'"),
            (":-", "letters, digits and '_'"),
            ("::a", "letters, digits and '_'"),
            ("*a.b", "letters, digits and '_'"),
            ("*:a", "letters, digits and '_'"),
            (":naïve", "letters, digits and '_'"),
            ("{:", "{:name}"),
            ("{:}", "{:name}"),
            ("{:a", "{:name}"),
            ("x{:a-b}", "{:name}"),
            ("{:a}{:b}", "no text between them"),
            (":a{:b}", "no text between them"),
            (":a?", "'?' behind it"),
            (":a+", "'+' behind it"),
            (":a*", "'*' behind it"),
            (":a(\\d+)", "'(' behind it"),
            (":a{[0-9]+}", "'{' behind it"),
            (":a[%d]", "'[' behind it"),
            ("(:a)", "')' behind it"),
            ("{/:a}", "'}' behind it"),
            ("{{:a}}", "'}' behind it"),
            (":a.*", "'*' inside of a part"),
            (":a.b?", "has a '?'"),
            (":a.%2", "two hexadecimal digits"),
            (":a.%", "two hexadecimal digits"),
            (":a.\0", "control character"),
            (".", "'.' or '..'"),
        ] {
            let shown = shown(part);
            assert!(shown.contains(message), "{part}: {shown}");
        }
    }
}
