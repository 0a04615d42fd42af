//! The reader: one pass over the text, an explicit stack instead of recursion, a tape of tokens as the result.

use crate::json::error::JsonError;
use crate::json::write::plain_bytes;
use std::ops::Range;

/// One token. A member of an object is a `Text` token for its name, then its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number without fraction or exponent that fits 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string: a span of the source, which has no escapes there.
    Text(Range<u32>),
    /// A string that had escapes: a span of the tape's own text.
    Unescaped(Range<u32>),
    /// `[`, with the number of elements.
    Array(u32),
    /// `{`, with the number of members.
    Object(u32),
    /// `]` or `}`.
    End,
}

/// The tokens of one text. Reused from text to text, it allocates nothing in the long run.
#[derive(Debug, Default)]
pub struct Tape {
    tokens: Vec<Token>,
    text: Vec<u8>,
    open: Vec<u32>,
}

impl Tape {
    /// Reads `source` whole. On an error the tape is of no use.
    pub fn read(&mut self, source: &[u8], depth_max: usize) -> Result<(), JsonError> {
        self.tokens.clear();
        self.text.clear();
        self.open.clear();
        let mut reader = JsonReader {
            source,
            at: 0,
            tape: self,
            depth_max,
        };
        reader.document().map_err(|message| {
            let before = &source[..reader.at.min(source.len())];
            let line_start = before
                .iter()
                .rposition(|&b| b == b'\n')
                .map_or(0, |i| i + 1);
            let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
            JsonError {
                message,
                line,
                column: before.len() - line_start + 1,
            }
        })
    }

    /// The tokens, in the order of the text.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The bytes of a string token; empty for other tokens. `source` is the text that was read.
    pub fn text<'a>(&'a self, token: &Token, source: &'a [u8]) -> &'a [u8] {
        match token {
            Token::Text(span) => &source[span.start as usize..span.end as usize],
            Token::Unescaped(span) => &self.text[span.start as usize..span.end as usize],
            _ => &[],
        }
    }
}

/// Every number of so many digits fits 64 bits.
const EXACT_DIGITS_MAX: usize = 18;

struct JsonReader<'a> {
    source: &'a [u8],
    at: usize,
    tape: &'a mut Tape,
    depth_max: usize,
}

type ParseStep<T = ()> = Result<T, &'static str>;

impl JsonReader<'_> {
    fn document(&mut self) -> ParseStep {
        if u32::try_from(self.source.len()).is_err() {
            return Err("longer than 4 GiB");
        }
        self.space();
        self.value()?;
        while let Some(&open) = self.tape.open.last() {
            self.next_in(open)?;
        }
        self.space();
        if self.at < self.source.len() {
            return Err("something after the value");
        }
        Ok(())
    }

    /// Reads the next element or member of the container that `open` points to, or its end.
    fn next_in(&mut self, open: u32) -> ParseStep {
        let (is_object, count) = match self.tape.tokens[open as usize] {
            Token::Object(count) => (true, count),
            Token::Array(count) => (false, count),
            _ => return Err("broken tape"),
        };
        self.space();
        let close = if is_object { b'}' } else { b']' };
        if self.peek() == Some(close) {
            self.at += 1;
            self.tape.open.pop();
            self.tape.tokens.push(Token::End);
            return Ok(());
        }
        if count > 0 {
            if self.peek() != Some(b',') {
                return Err(if is_object {
                    "expected ',' or '}'"
                } else {
                    "expected ',' or ']'"
                });
            }
            self.at += 1;
            self.space();
        }
        let raised = count + 1;
        self.tape.tokens[open as usize] = if is_object {
            Token::Object(raised)
        } else {
            Token::Array(raised)
        };
        if is_object {
            if self.peek() != Some(b'"') {
                return Err("expected a member name in quotes");
            }
            self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err("expected ':'");
            }
            self.at += 1;
            self.space();
        }
        self.value()
    }

    /// Reads a scalar whole, or the opening of a container.
    fn value(&mut self) -> ParseStep {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.open(Token::Object(0)),
            Some(b'[') => self.open(Token::Array(0)),
            Some(b't') => self.word(b"true", Token::Bool(true)),
            Some(b'f') => self.word(b"false", Token::Bool(false)),
            Some(b'n') => self.word(b"null", Token::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err("expected a value"),
            None => Err("the text ends where a value should be"),
        }
    }

    fn open(&mut self, token: Token) -> ParseStep {
        if self.tape.open.len() >= self.depth_max {
            return Err("nested too deeply");
        }
        self.at += 1;
        self.tape.open.push(self.tape.tokens.len() as u32);
        self.tape.tokens.push(token);
        Ok(())
    }

    fn word(&mut self, word: &[u8], token: Token) -> ParseStep {
        if !self.source[self.at..].starts_with(word) {
            return Err("expected a value");
        }
        self.at += word.len();
        self.tape.tokens.push(token);
        Ok(())
    }

    /// RFC 8259 section 6: no leading zeros, digits on both sides of the point.
    fn number(&mut self) -> ParseStep {
        let start = self.at;
        let is_negative = self.peek() == Some(b'-');
        if is_negative {
            self.at += 1;
        }
        let (whole, magnitude) = self.whole();
        if whole == 0 || (whole > 1 && self.source[self.at - whole] == b'0') {
            return Err("malformed number");
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            is_whole = false;
            if self.digits() == 0 {
                return Err("malformed number");
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            is_whole = false;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err("malformed number");
            }
        }
        if is_whole && whole <= EXACT_DIGITS_MAX && magnitude > 0 {
            let value = if is_negative { -magnitude } else { magnitude };
            self.tape.tokens.push(Token::Int(value));
            return Ok(());
        }
        let text =
            std::str::from_utf8(&self.source[start..self.at]).map_err(|_| "malformed number")?;
        let token = match text.parse::<i64>() {
            Ok(value) if is_whole && text != "-0" => Token::Int(value),
            _ => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Token::Float(value),
                _ => return Err("number out of range"),
            },
        };
        self.tape.tokens.push(token);
        Ok(())
    }

    /// Reads digits: how many, and the number that they make where it fits.
    fn whole(&mut self) -> (usize, i64) {
        let (start, mut value) = (self.at, 0_i64);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        (self.at - start, value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    /// Reads a string, the opening quote included.
    fn string(&mut self) -> ParseStep {
        self.at += 1;
        let start = self.at;
        self.at += plain_bytes(&self.source[start..]);
        let mut ascii = true;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => return self.string_with_escapes(start),
                Some(0..=0x1f) => return Err("control character in a string"),
                Some(byte) => {
                    ascii &= byte < 0x80;
                    self.at += 1;
                }
                None => return Err("the text ends inside a string"),
            }
        }
        if !ascii {
            std::str::from_utf8(&self.source[start..self.at]).map_err(|_| "string is not UTF-8")?;
        }
        self.tape
            .tokens
            .push(Token::Text(start as u32..self.at as u32));
        self.at += 1;
        Ok(())
    }

    /// Reads on from the first backslash of a string that began at `start`.
    fn string_with_escapes(&mut self, start: usize) -> ParseStep {
        let from = self.tape.text.len();
        self.tape
            .text
            .extend_from_slice(&self.source[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err("control character in a string"),
                Some(byte) => {
                    self.tape.text.push(byte);
                    self.at += 1;
                }
                None => return Err("the text ends inside a string"),
            }
        }
        std::str::from_utf8(&self.tape.text[from..]).map_err(|_| "string is not UTF-8")?;
        self.tape
            .tokens
            .push(Token::Unescaped(from as u32..self.tape.text.len() as u32));
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> ParseStep {
        self.at += 1;
        let byte = match self.peek().ok_or("the text ends inside a string")? {
            b'u' => return self.unicode_escape(),
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0c,
            byte @ (b'"' | b'\\' | b'/') => byte,
            _ => return Err("unknown escape"),
        };
        self.at += 1;
        self.tape.text.push(byte);
        Ok(())
    }

    /// `\uXXXX`, or two of them for a character outside the basic plane. A surrogate without its partner has no place
    /// in UTF-8 and is an error.
    fn unicode_escape(&mut self) -> ParseStep {
        let mut code = self.hex4()?;
        if (0xd800..0xdc00).contains(&code) && self.source[self.at..].starts_with(b"\\u") {
            self.at += 1;
            let low = self.hex4()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err("lone surrogate");
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        let c = char::from_u32(code).ok_or("lone surrogate")?;
        self.tape
            .text
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// The four digits after the `u` at which the reader stands.
    fn hex4(&mut self) -> ParseStep<u32> {
        let digits = self
            .source
            .get(self.at + 1..self.at + 5)
            .ok_or("malformed \\u escape")?;
        let mut code = 0;
        for &digit in digits {
            code = code * 16
                + char::from(digit)
                    .to_digit(16)
                    .ok_or("malformed \\u escape")?;
        }
        self.at += 5;
        Ok(code)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests;
