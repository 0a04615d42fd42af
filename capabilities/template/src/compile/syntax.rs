//! The messages of syntax errors: what is wrong, where it begins, and what to write instead. The parser tells less, and
//! the line only. All of this runs once a text has turned out not to be a template.

use crate::compile::names::{CompileFault, TextPlace};
use crate::compile::rewrite::Rewritten;
use crate::compile::statements::{open_blocks, unclosed};
use minijinja::Error;
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;

/// The most tokens of a text in which the one that the parser does not take is looked for.
const TOKENS_MAX: usize = 100_000;

/// The columns of a line that minijinja counts.
const COLUMNS_MAX: usize = u16::MAX as usize;

/// The parser's words, and those of people who write templates.
const WORDS: [(&str, &str); 18] = [
    ("as", "`as`"),
    ("assignment operator", "`=`"),
    ("block keyword", "a statement"),
    ("comma", "`,`"),
    ("context", "`context`"),
    ("end of block", "`%}`"),
    ("end of variable block", "`}}`"),
    ("expression", "an expression"),
    ("identifier", "a name"),
    ("identifier or integer", "a name or a number"),
    ("import", "`import`"),
    ("in", "`in`"),
    ("keyword", "a statement"),
    ("missing keyword", "`missing`"),
    ("start of block", "`{%`"),
    ("start of variable block", "`{{`"),
    ("statement", "a statement"),
    ("template-data", "text"),
];

/// Characters that mean something in other languages, and what to write.
const FOREIGN: [(char, &str); 8] = [
    ('!', "write `not`"),
    ('&', "write `and`"),
    ('?', "write {{ a if b else c }}"),
    ('`', "a string stands in \" or '"),
    ('\u{2018}', "a string stands in \" or '"),
    ('\u{2019}', "a string stands in \" or '"),
    ('\u{201c}', "a string stands in \" or '"),
    ('\u{201d}', "a string stands in \" or '"),
];

type Tokens<'a> = Vec<(Token<'a>, Span)>;

/// Returns the fault of a text that the parser does not take, from the parser's error.
#[cold]
pub(super) fn explained(text: &str, rewritten: &Rewritten<'_>, error: &Error) -> CompileFault {
    let detail = error.detail().unwrap_or_default();
    let (tokens, lexical) = tokens_of(text);
    // A block in a macro has not been moved if one of both is not closed.
    let is_statement = ["unknown statement", "block tags in macros"]
        .iter()
        .any(|start| detail.starts_with(start));
    let misplaced = || match open_blocks(&tokens) {
        Ok(open) => unclosed(&open),
        Err(misplaced) => Some(misplaced),
    };
    let found = if lexical.is_some_and(|lexical| is_same(&lexical, error)) {
        let from = tokens.last().map_or(0, |(_, span)| span.end_offset);
        Some(lexical_fault(text, from as usize, detail))
    } else if detail.starts_with("unexpected end of input") {
        unclosed_tag(&tokens).or_else(misplaced)
    } else if is_statement {
        misplaced()
    } else {
        None
    };
    let (told, place) = match found {
        Some((told, at)) => (told, TextPlace::Byte(at)),
        None => located(rewritten, error, detail),
    };
    let message = match told.is_empty() {
        true => error.kind().to_string(),
        false => format!("{}: {told}", error.kind()),
    };
    CompileFault { message, place }
}

/// Returns the fault of a text at which minijinja panics: in a build for tests, also at an error so far to the right
/// that it does not count the columns.
#[cold]
pub(super) fn panicked(text: &str) -> CompileFault {
    let mut lines = (1..).zip(text.lines());
    let long = lines.find(|(_, line)| line.chars().nth(COLUMNS_MAX).is_some());
    let (message, line) = match long {
        Some((line, _)) => (
            format!(
                "syntax error behind column {COLUMNS_MAX}, such as an open string: break the line to find it"
            ),
            line,
        ),
        None => (
            "syntax error: a name was expected where something is assigned".to_owned(),
            1,
        ),
    };
    CompileFault {
        message,
        place: TextPlace::Line(line),
    }
}

/// Returns the tokens of a text, up to an error.
fn tokens_of(text: &str) -> (Tokens<'_>, Option<Error>) {
    let mut tokens = Vec::new();
    for token in tokenize(text, false, SyntaxConfig::default()) {
        match token {
            Ok(token) => tokens.push(token),
            Err(error) => return (tokens, Some(error)),
        }
    }
    (tokens, None)
}

fn is_same(one: &Error, other: &Error) -> bool {
    (one.kind(), one.detail()) == (other.kind(), other.detail())
}

/// Returns the message for characters that are no token, which stand behind the byte `from`, and the byte at which they
/// begin.
fn lexical_fault(text: &str, from: usize, detail: &str) -> (String, u32) {
    let rest = &text[from..];
    // Tags may have white space of ASCII only.
    let token = rest.trim_start_matches(|one: char| one.is_ascii_whitespace());
    let begin = from + (rest.len() - token.len());
    let found = |at: Option<usize>| at.unwrap_or(begin);
    let (told, at) = match detail {
        "unexpected end of comment" => {
            let last_end = rest.rfind("#}");
            let mut begins = rest.match_indices("{#").map(|(at, _)| at);
            let at = begins.find(|at| last_end.is_none_or(|end| end < at + 2));
            let told = "the comment is never closed with `#}`".to_owned();
            (told, found(at.map(|at| from + at)))
        }
        "unexpected end of raw block" => {
            let at = rest.find("{%").map(|at| from + at);
            let told = "`raw` is never closed with `endraw`".to_owned();
            (told, found(at))
        }
        "unexpected end of string" => {
            let quote = text[begin..].chars().next().unwrap_or('"');
            (format!("the string is never closed with `{quote}`"), begin)
        }
        "unexpected character" => {
            let one = text[begin..].chars().next().unwrap_or(' ');
            let advice = FOREIGN.iter().find(|(foreign, _)| *foreign == one);
            let advice = advice.map_or_else(String::new, |(_, advice)| format!("; {advice}"));
            let one = one.escape_debug();
            (format!("unexpected character `{one}`{advice}"), begin)
        }
        other => (other.to_owned(), begin),
    };
    (told, at as u32)
}

/// Returns the message for a tag that the text ends in, and the byte at which it begins.
fn unclosed_tag(tokens: &[(Token<'_>, Span)]) -> Option<(String, u32)> {
    let mut behind = tokens.iter().rev();
    behind.find_map(|(token, span)| {
        let told = match token {
            Token::BlockStart => "`{%` is never closed with `%}`",
            Token::VariableStart => "`{{` is never closed with `}}`",
            Token::BlockEnd | Token::VariableEnd => return Some(None),
            _ => return None,
        };
        Some(Some((told.to_owned(), span.start_offset)))
    })?
}

/// Returns the parser's message in better words, with its place in the file.
fn located(rewritten: &Rewritten<'_>, error: &Error, detail: &str) -> (String, TextPlace) {
    let (tokens, _) = tokens_of(&rewritten.text);
    match refused(&rewritten.text, &tokens, error) {
        Some(at) => {
            let place = rewritten.original(tokens[at].1.start_offset);
            (worded(detail, &tokens[..=at]), TextPlace::Byte(place))
        }
        None => {
            let line = error.line().unwrap_or(1) as u32;
            (worded(detail, &[]), TextPlace::Line(line))
        }
    }
}

/// Returns the number of the token that the parser does not take: the last of the shortest text with this error.
fn refused(text: &str, tokens: &[(Token<'_>, Span)], error: &Error) -> Option<usize> {
    if tokens.len() > TOKENS_MAX {
        return None;
    }
    let fails = |(_, span): &(Token<'_>, Span)| {
        let part = text.get(..span.end_offset as usize);
        let parsed = part.map(|part| parse(part, "", SyntaxConfig::default()));
        parsed.is_some_and(|parsed| parsed.is_err_and(|other| is_same(&other, error)))
    };
    let at = tokens.partition_point(|token| !fails(token));
    let (_, span) = tokens.get(at)?;
    (Some(usize::from(span.start_line)) == error.line()).then_some(at)
}

/// Returns the parser's message in better words. The last of the tokens is the one that it does not take.
fn worded(detail: &str, tokens: &[(Token<'_>, Span)]) -> String {
    let no_statement = |rest: &&str| rest.ends_with(", expected statement");
    let unknown = detail.strip_prefix("unknown ").filter(no_statement);
    let Some(unexpected) = detail.strip_prefix("unexpected ").or(unknown) else {
        return detail.to_owned();
    };
    let (unexpected, expected) = match unexpected.split_once(", expected ") {
        Some((unexpected, expected)) => (unexpected, word_of(expected)),
        None => (unexpected, "an expression"),
    };
    let unexpected = match tokens.last() {
        Some((Token::Ident(name), _)) => format!("`{name}`"),
        _ => word_of(unexpected).to_owned(),
    };
    let (advice, begin) = (advice(tokens), begin_of_tag(tokens));
    format!("unexpected {unexpected}, expected {expected}{advice}{begin}")
}

fn word_of(text: &str) -> &str {
    let word = WORDS.iter().find(|(known, _)| *known == text);
    word.map_or(text, |(_, word)| *word)
}

/// Returns what to write instead of the last token, if others write it so elsewhere.
fn advice(tokens: &[(Token<'_>, Span)]) -> &'static str {
    let token = |before: usize| {
        let at = tokens.len().checked_sub(1 + before)?;
        Some(&tokens[at].0)
    };
    match (token(2), token(1), token(0)) {
        (Some(Token::BlockStart), Some(Token::Ident("else")), Some(Token::Ident("if"))) => {
            "; write `elif`"
        }
        (_, _, Some(Token::Assign)) => "; `==` compares, and {% set a = 1 %} assigns",
        (_, Some(Token::Pipe), Some(Token::Pipe)) => "; write `or`",
        _ => "",
    }
}

/// Says where the tag of the last token begins, if that is in an earlier line: the tag before may not be closed.
fn begin_of_tag(tokens: &[(Token<'_>, Span)]) -> String {
    let is_begin =
        |(token, _): &&(Token<'_>, Span)| matches!(token, Token::BlockStart | Token::VariableStart);
    match (tokens.iter().rev().find(is_begin), tokens.last()) {
        (Some((_, begin)), Some((_, last))) if begin.start_line < last.start_line => {
            format!(" (in the tag that begins in line {})", begin.start_line)
        }
        _ => String::new(),
    }
}
