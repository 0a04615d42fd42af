//! The statements of a template by their tags alone: the blocks that are open, and the tag that closes none of them.
//! The parser does not tell of them. They are looked for once a text has turned out not to be a template.

use minijinja::machinery::{Span, Token};
use sampan_host::names::hint;

/// The statements that begin a block, which a tag such as `endfor` closes.
const BLOCKS: [&str; 9] = [
    "autoescape",
    "block",
    "call",
    "filter",
    "for",
    "if",
    "macro",
    "set",
    "with",
];

/// The other statements, and the parts of blocks. `raw` is no statement for the parser, which reads it as text.
const OTHERS: [&str; 10] = [
    "break", "continue", "do", "elif", "else", "extends", "from", "import", "include", "raw",
];

/// Statements of other languages of templates, and what to write.
const FOREIGN: [(&str, &str); 6] = [
    ("assign", "{% set name = value %}"),
    ("case", "{% if %} and {% elif %}"),
    ("switch", "{% if %} and {% elif %}"),
    ("trans", "{{ t(\"key\") }}"),
    ("unless", "{% if not %}"),
    ("verbatim", "{% raw %}"),
];

/// A block that is open at a place of a template.
pub(super) struct OpenBlock<'a> {
    word: &'a str,
    /// The name of a block or a macro.
    name: Option<&'a str>,
    line: u16,
    /// The byte at which its statement begins.
    pub(super) at: u32,
    /// The line of its `else`.
    else_line: Option<u16>,
}

impl OpenBlock<'_> {
    /// Returns the block in words: "the `for` of line 3".
    fn shown(&self) -> String {
        match self.name {
            Some(name) => format!("the `{} {name}` of line {}", self.word, self.line),
            None => format!("the `{}` of line {}", self.word, self.line),
        }
    }
}

/// A tag that cannot stand where it stands: what is wrong, and the byte at which its statement begins.
pub(super) type Misplaced = (String, u32);

/// Returns the blocks that are open at the end, innermost last.
///
/// # Errors
/// The first tag that cannot stand where it stands.
pub(super) fn open_blocks<'a>(
    tokens: &[(Token<'a>, Span)],
) -> Result<Vec<OpenBlock<'a>>, Misplaced> {
    let mut open = Vec::new();
    for (at, (token, _)) in tokens.iter().enumerate() {
        let (Token::BlockStart, Some((Token::Ident(word), span))) = (token, tokens.get(at + 1))
        else {
            continue;
        };
        let rest = &tokens[at + 2..];
        let is_end = |(token, _): &(Token<'_>, Span)| matches!(token, Token::BlockEnd);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        enter(&mut open, word, *span, &rest[..length])
            .map_err(|fault| (fault, span.start_offset))?;
    }
    Ok(open)
}

/// Opens or closes a block by a tag, of which the statement and the rest are given.
fn enter<'a>(
    open: &mut Vec<OpenBlock<'a>>,
    word: &'a str,
    span: Span,
    rest: &[(Token<'a>, Span)],
) -> Result<(), String> {
    let line = span.start_line;
    let last = open.last_mut();
    match (word, last) {
        ("set", _) if assigns(rest) => {}
        // The lexer has not taken it.
        ("raw", _) => return Err("`raw` takes nothing: write {% raw %}".to_owned()),
        (word, _) if BLOCKS.contains(&word) => open.push(OpenBlock {
            word,
            name: match (word, rest) {
                ("block" | "macro", [(Token::Ident(name), _), ..]) => Some(*name),
                _ => None,
            },
            line,
            at: span.start_offset,
            else_line: None,
        }),
        ("else", Some(block)) if matches!(block.word, "for" | "if") => {
            if let Some(before) = block.else_line.replace(line) {
                let block = block.shown();
                return Err(format!("{block} has an `else` in line {before} already"));
            }
        }
        ("elif", Some(block)) if block.word == "if" => {
            if let Some(before) = block.else_line {
                let block = block.shown();
                return Err(format!(
                    "`elif` must stand before the `else` of {block}, which is in line {before}"
                ));
            }
        }
        ("else", _) => return Err(foreign_end("else", "belongs to no `if` or `for`", open)),
        ("elif", _) => return Err(foreign_end("elif", "belongs to no `if`", open)),
        (word, last) => match word.strip_prefix("end").filter(|it| BLOCKS.contains(it)) {
            Some(closed) if last.as_ref().is_some_and(|block| block.word == closed) => {
                open.pop();
            }
            Some(closed) => return Err(closes_none(word, closed, open)),
            None if OTHERS.contains(&word) => {}
            None => return Err(unknown(word, open)),
        },
    }
    Ok(())
}

/// Reports whether the rest of a `set` tag has a value. Else the tag begins a block.
fn assigns(rest: &[(Token<'_>, Span)]) -> bool {
    let mut depth = 0_usize;
    rest.iter().any(|(token, _)| {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        depth == 0 && matches!(token, Token::Assign)
    })
}

/// Says that a tag closes no block.
fn closes_none(word: &str, closed: &str, open: &[OpenBlock<'_>]) -> String {
    let outer = open.iter().rev().find(|block| block.word == closed);
    match (outer, open.last()) {
        (Some(outer), Some(last)) => format!(
            "`{word}` cannot close {}: {} inside of it is open, and `end{}` closes that",
            outer.shown(),
            last.shown(),
            last.word
        ),
        _ => foreign_end(word, &format!("closes no `{closed}`"), open),
    }
}

/// Says what a tag does not do, and which block is open.
fn foreign_end(word: &str, fault: &str, open: &[OpenBlock<'_>]) -> String {
    format!("`{word}` {fault}: {}", innermost(open))
}

/// Returns the block that may be closed, in words.
fn innermost(open: &[OpenBlock<'_>]) -> String {
    match open.last() {
        Some(last) => format!(
            "the open block is {}, which `end{}` closes",
            last.shown(),
            last.word
        ),
        None => "no block is open here".to_owned(),
    }
}

fn unknown(word: &str, open: &[OpenBlock<'_>]) -> String {
    let foreign = FOREIGN.iter().find(|(foreign, _)| *foreign == word);
    let end = open.last().map(|last| format!("end{}", last.word));
    let advice = match foreign {
        Some((_, instead)) => format!("; write {instead}"),
        None if word.starts_with("end") => format!("; {}", innermost(open)),
        None => {
            let known = BLOCKS.iter().chain(&OTHERS).copied();
            hint(word, known.chain(end.as_deref()))
        }
    };
    format!("unknown statement {word}{advice}")
}

/// Says that blocks are not closed at the end of a template.
pub(super) fn unclosed(open: &[OpenBlock<'_>]) -> Option<Misplaced> {
    let (last, around) = open.split_last()?;
    let mut told = format!("{} is never closed with `end{}`", last.shown(), last.word);
    if let Some(next) = around.last() {
        told += &format!(", and neither is {} around it", next.shown());
    }
    Some((told, last.at))
}
