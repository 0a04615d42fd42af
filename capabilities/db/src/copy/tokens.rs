//! The tokens of SQLite's SQL, as its tokenizer finds them (`src/tokenize.c`). Comments and blanks are passed over.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A keyword or a name without quotes.
    Word(String),
    /// A name in quotes of one of the kinds, without them.
    Name(String),
    /// A string, without its quotes.
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// `x'...'`: the hexadecimal digits.
    Blob(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    /// A character that begins none of these.
    Other(char),
}

const SIGNS: [&str; 26] = [
    "->>", "->", "||", "==", "!=", "<>", "<=", ">=", "<<", ">>", "(", ")", ",", "+", "-", "*", "/",
    "%", "=", "<", ">", "&", "|", "~", ".", ";",
];

impl Token {
    /// Reports whether it is this keyword.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Self::Sign(own) if *own == sign)
    }
}

/// Returns the tokens of a text.
pub(super) fn tokens(sql: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if first.is_ascii_whitespace() => 1,
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '\'' => {
                let (text, length) = quoted(rest, '\'');
                found.push(Token::Text(text));
                length
            }
            '"' | '`' => {
                let (name, length) = quoted(rest, first);
                found.push(Token::Name(name));
                length
            }
            '[' => {
                let end = rest.find(']').unwrap_or(rest.len() - 1);
                found.push(Token::Name(rest[1..end].to_owned()));
                end + 1
            }
            'x' | 'X' if rest[1..].starts_with('\'') => {
                let (digits, length) = quoted(&rest[1..], '\'');
                found.push(Token::Blob(digits));
                length + 1
            }
            _ if is_number(rest) => {
                let length = number(rest);
                found.push(Token::Number(rest[..length].to_owned()));
                length
            }
            _ if is_name(first) => {
                let length = rest.find(|one| !is_name(one)).unwrap_or(rest.len());
                found.push(Token::Word(rest[..length].to_owned()));
                length
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    found.push(Token::Sign(sign));
                    sign.len()
                }
                None => {
                    found.push(Token::Other(first));
                    first.len_utf8()
                }
            },
        };
        rest = &rest[length..];
    }
    found
}

fn is_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_' || one == '$' || !one.is_ascii()
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('.').unwrap_or(text);
    digits.starts_with(|one: char| one.is_ascii_digit())
}

/// The length of a number: digits, a point, an exponent with its sign, or `0x` and what follows.
fn number(text: &str) -> usize {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    let end = text.find(|one: char| {
        let is_exponent_sign = matches!(one, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex;
        before = one;
        !(one.is_ascii_alphanumeric() || one == '.' || one == '_' || is_exponent_sign)
    });
    end.unwrap_or(text.len())
}

/// Returns what stands between two quotes, doubled ones as one, and the length with them.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut inner = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, one)) = chars.next() {
        if one != quote {
            inner.push(one);
            continue;
        }
        match chars.peek() {
            Some((_, next)) if *next == quote => {
                inner.push(quote);
                chars.next();
            }
            _ => return (inner, at + 1),
        }
    }
    (inner, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_comments_and_numbers_are_known() {
        let word = |text: &str| Token::Word(text.to_owned());
        let name = |text: &str| Token::Name(text.to_owned());
        let number = |text: &str| Token::Number(text.to_owned());
        for (sql, expected) in [
            ("a -- b\n/* c */ d", vec![word("a"), word("d")]),
            (
                r#""a""b" `c` [d e]"#,
                vec![name("a\"b"), name("c"), name("d e")],
            ),
            (
                "'it''s' x'0aF'",
                vec![Token::Text("it's".into()), Token::Blob("0aF".into())],
            ),
            (
                "1.5e-3 .5 0x1F+2",
                vec![
                    number("1.5e-3"),
                    number(".5"),
                    number("0x1F"),
                    Token::Sign("+"),
                    number("2"),
                ],
            ),
            (
                "a<=b||'",
                vec![
                    word("a"),
                    Token::Sign("<="),
                    word("b"),
                    Token::Sign("||"),
                    Token::Text(String::new()),
                ],
            ),
            ("été ?", vec![word("été"), Token::Other('?')]),
        ] {
            assert_eq!(tokens(sql), expected, "{sql}");
        }
    }
}
