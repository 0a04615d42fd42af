//! The tokens of a statement, as PostgreSQL's lexer (`src/backend/parser/scan.l`) finds them, with the parameters that
//! scripts write.
//!
//! A `?` is a parameter. The operators of jsonb that have one are `??`, `?|` and `?&`, written as here: `??` becomes
//! the operator `?` (as in JDBC), and `?||` is a parameter before `||`. `@?` is the operator of jsonpath.
//! `:name`, `@name`, `$name`, `?1` and `$1` are parameters too, as in SQLite.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// White space or a comment.
    Gap,
    /// A keyword or a name without quotes.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A string or a number.
    Literal,
    /// The parameter `?`.
    Positional,
    /// The parameter `?1` or `$1`, with its number.
    Numbered(u32),
    /// The parameter `:name`, `@name` or `$name`.
    Named,
    /// `??`, which stands for the operator `?`; `??|` and `??&` too.
    Doubled,
    /// An opening parenthesis.
    Open,
    /// A closing parenthesis.
    Close,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// Anything else.
    Other,
}

/// Reads the tokens of a text. A string or a comment without an end is one token up to the end of the text.
pub(crate) struct Tokens<'a> {
    sql: &'a [u8],
    at: usize,
    /// Brackets of arrays that are open: a colon in them may be that of a slice.
    brackets: u32,
    /// True if the last token was an operand, so that a colon in brackets belongs to a slice.
    is_after_operand: bool,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(sql: &'a str) -> Self {
        Self {
            sql: sql.as_bytes(),
            at: 0,
            brackets: 0,
            is_after_operand: false,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.sql.get(at).copied().unwrap_or(0)
    }

    /// Returns the end of the bytes from `at` on that are of a kind.
    fn while_is(&self, at: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = &self.sql[at.min(self.sql.len())..];
        at + rest
            .iter()
            .position(|&byte| !is(byte))
            .unwrap_or(rest.len())
    }

    fn token(&mut self) -> (Token, usize) {
        let at = self.at;
        let (first, second) = (self.byte(at), self.byte(at + 1));
        match first {
            b'-' if second == b'-' => {
                let end = memchr::memchr2(b'\n', b'\r', &self.sql[at..]);
                (Token::Gap, end.map_or(self.sql.len(), |end| at + end))
            }
            b'/' if second == b'*' => (Token::Gap, self.comment(at)),
            b'\'' => (Token::Literal, self.string(at, false)),
            b'"' => (Token::Quoted, self.quoted(at, b'"')),
            b'E' | b'e' if second == b'\'' => (Token::Literal, self.string(at + 1, true)),
            b'B' | b'b' | b'X' | b'x' | b'N' | b'n' if second == b'\'' => {
                (Token::Literal, self.string(at + 1, false))
            }
            b'U' | b'u' if second == b'&' && self.byte(at + 2) == b'\'' => {
                (Token::Literal, self.string(at + 2, false))
            }
            b'U' | b'u' if second == b'&' && self.byte(at + 2) == b'"' => {
                (Token::Quoted, self.quoted(at + 2, b'"'))
            }
            b'$' => self.dollar(at),
            b'?' => self.question(at),
            b':' if second == b':' => (Token::Other, at + 2),
            b':' if is_word_start(second) && !(self.brackets > 0 && self.is_after_operand) => {
                (Token::Named, self.while_is(at + 1, is_word))
            }
            b'@' if second == b'?' => (Token::Other, at + 2),
            b'@' if is_word_start(second) && !(at > 0 && is_operator(self.byte(at - 1))) => {
                (Token::Named, self.while_is(at + 1, is_word))
            }
            b'(' => (Token::Open, at + 1),
            b')' => (Token::Close, at + 1),
            b';' => (Token::Semicolon, at + 1),
            b'.' if !second.is_ascii_digit() => (Token::Dot, at + 1),
            byte if byte.is_ascii_digit() || byte == b'.' => (Token::Literal, self.number(at)),
            byte if is_space(byte) => (Token::Gap, self.while_is(at, is_space)),
            byte if is_word_start(byte) => (Token::Word, self.while_is(at, is_word)),
            _ => (Token::Other, at + 1),
        }
    }

    /// Returns the end of a number: digits, a fraction and an exponent. What follows directly is a token of its own.
    fn number(&self, at: usize) -> usize {
        let end = self.while_is(at, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if self.byte(end) != b'.' || self.byte(end + 1) == b'.' {
            return end;
        }
        self.while_is(end + 1, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Returns the end of a comment; comments nest.
    fn comment(&self, start: usize) -> usize {
        let (mut at, mut depth) = (start + 2, 1);
        while at < self.sql.len() {
            match (self.byte(at), self.byte(at + 1)) {
                (b'/', b'*') => (at, depth) = (at + 2, depth + 1),
                (b'*', b'/') => {
                    (at, depth) = (at + 2, depth - 1);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => at += 1,
            }
        }
        self.sql.len()
    }

    /// Returns the end of a string whose quote stands at `at`. A doubled quote begins another string without a gap,
    /// which makes no difference here.
    fn string(&self, at: usize, has_escapes: bool) -> usize {
        if !has_escapes {
            return self.quoted(at, b'\'');
        }
        let mut at = at + 1;
        while let Some(found) = memchr::memchr2(b'\'', b'\\', self.sql.get(at..).unwrap_or(&[])) {
            at += found;
            match (self.byte(at), self.byte(at + 1)) {
                (b'\\', _) | (b'\'', b'\'') => at += 2,
                _ => return at + 1,
            }
        }
        self.sql.len()
    }

    fn quoted(&self, at: usize, quote: u8) -> usize {
        let mut at = at + 1;
        while let Some(found) = memchr::memchr(quote, self.sql.get(at..).unwrap_or(&[])) {
            at += found + 1;
            if self.byte(at) != quote {
                return at;
            }
            at += 1;
        }
        self.sql.len()
    }

    /// Reads `$$...$$`, `$tag$...$tag$`, `$1` or `$name`.
    fn dollar(&self, at: usize) -> (Token, usize) {
        let end = self.while_is(at + 1, |byte| byte.is_ascii_digit());
        if end > at + 1 {
            return self.numbered(at, end);
        }
        let end = match is_word_start(self.byte(at + 1)) {
            true => self.while_is(at + 1, |byte| is_word(byte) && byte != b'$'),
            false => at + 1,
        };
        if self.byte(end) == b'$' {
            let tag = &self.sql[at..=end];
            let found = memchr::memmem::find(&self.sql[end + 1..], tag);
            let end = found.map_or(self.sql.len(), |found| end + 1 + found + tag.len());
            return (Token::Literal, end);
        }
        match end > at + 1 {
            true => (Token::Named, end),
            false => (Token::Other, end),
        }
    }

    fn question(&self, at: usize) -> (Token, usize) {
        let end = self.while_is(at + 1, |byte| byte.is_ascii_digit());
        if end > at + 1 {
            return self.numbered(at, end);
        }
        match (self.byte(at + 1), self.byte(at + 2)) {
            (b'?', b'|' | b'&') => (Token::Doubled, at + 3),
            (b'?', _) => (Token::Doubled, at + 2),
            (b'|', b'|') => (Token::Positional, at + 1),
            (b'|' | b'&', _) => (Token::Other, at + 2),
            _ => (Token::Positional, at + 1),
        }
    }

    fn numbered(&self, at: usize, end: usize) -> (Token, usize) {
        let digits = std::str::from_utf8(&self.sql[at + 1..end]).unwrap_or_default();
        // A number that is too large is refused like one that is not used.
        (Token::Numbered(digits.parse().unwrap_or(u32::MAX)), end)
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        if at >= self.sql.len() {
            return None;
        }
        let (token, end) = self.token();
        // The text is cut between characters: all bytes that end a token are ASCII, and so are those that begin one,
        // but for words, which have the rest of their character.
        self.at = end;
        match (token, self.sql[at]) {
            (Token::Gap, _) => {}
            (_, b'[') => (self.brackets, self.is_after_operand) = (self.brackets + 1, false),
            (_, b']') => {
                (self.brackets, self.is_after_operand) = (self.brackets.saturating_sub(1), true);
            }
            (Token::Other | Token::Open | Token::Semicolon | Token::Doubled, _) => {
                self.is_after_operand = false;
            }
            _ => self.is_after_operand = true,
        }
        Some((token, at..end))
    }
}

/// Returns the statements of a text, each from its first token up to its semicolon.
pub fn statements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = None;
    let mut body = Body::default();
    for (token, range) in Tokens::new(text) {
        body.see(token, &text[range.clone()]);
        match token {
            Token::Gap => {}
            Token::Semicolon if body.depth > 0 => {}
            Token::Semicolon => {
                found.extend(
                    begin
                        .take()
                        .map(|begin| text[begin..range.start].trim_end()),
                );
            }
            _ => begin = begin.or(Some(range.start)),
        }
    }
    found.extend(begin.map(|begin| text[begin..].trim_end()));
    found
}

/// The body of a function between BEGIN ATOMIC and its END: semicolons in it end no statement of the text.
#[derive(Default)]
struct Body<'a> {
    /// The body and the CASE in it that have no END yet.
    depth: usize,
    /// The token before.
    last: &'a str,
}

impl<'a> Body<'a> {
    fn see(&mut self, token: Token, text: &'a str) {
        if token == Token::Gap {
            return;
        }
        let is = |text: &str, word: &str| text.eq_ignore_ascii_case(word);
        // Behind these a keyword is the name of a column.
        let is_keyword = token == Token::Word && self.last != "." && !is(self.last, "AS");
        if self.depth == 0 {
            self.depth = usize::from(is_keyword && is(text, "ATOMIC") && is(self.last, "BEGIN"));
        } else if is_keyword && is(text, "CASE") {
            self.depth += 1;
        } else if is_keyword && is(text, "END") {
            self.depth -= 1;
        }
        self.last = text;
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub(super) fn is_word(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

fn is_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}
