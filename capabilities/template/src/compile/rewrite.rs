//! Rewrites what Jinja2 takes and minijinja's parser does not: a block in a macro, and a sign `+` before a value.
//!
//! A block in a macro moves behind the text of the template, where it is declared and not shown, and the macro calls it
//! by `self`. All lines stay where they are, and those of the block are counted back.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The text that the parser takes.
pub(crate) struct Rewritten<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The number of lines by which each block stands behind its place in the file.
    pub(crate) moved_lines: BTreeMap<&'a str, u32>,
    /// The parts of the file where they stand now, in the order of the new text: their beginnings in it, and their
    /// bytes in the file. None if all stand where they did.
    parts: Vec<(usize, Range<usize>)>,
}

impl Rewritten<'_> {
    /// Returns the byte in the file for one of the text.
    pub(crate) fn original(&self, at: u32) -> u32 {
        let before = self
            .parts
            .partition_point(|(start, _)| *start <= at as usize);
        match before.checked_sub(1).map(|part| &self.parts[part]) {
            Some((start, part)) => (part.start + at as usize - start).min(part.end) as u32,
            None => at,
        }
    }
}

/// A block in a macro, while its end is looked for.
struct Block<'a> {
    name: &'a str,
    start: usize,
    line: u32,
    /// The number of blocks inside of it that are open.
    inner: u32,
}

/// Rewrites the text of a template. Text that is not a template stays as it is, for the parser to tell.
pub(crate) fn rewrite(text: &str) -> Rewritten<'_> {
    let mut macros = 0_u32;
    let mut open: Option<Block<'_>> = None;
    let mut moved: Vec<(Range<usize>, Block<'_>)> = Vec::new();
    let mut signs = Vec::new();
    // The tag that is read: where it begins, and its first two words.
    let (mut tag, mut words) = (0, Vec::new());
    let mut is_value = false;
    for token in tokenize(text, false, SyntaxConfig::default()) {
        let Ok((token, span)) = token else { break };
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        if matches!(token, Token::Plus) && !is_value {
            signs.push(start);
        }
        is_value = match &token {
            Token::Ident(word) => !matches!(
                *word,
                "and" | "or" | "not" | "if" | "else" | "is" | "in" | "elif"
            ),
            Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_) => true,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => true,
            _ => false,
        };
        match token {
            Token::BlockStart => (tag, words) = (start, Vec::new()),
            Token::Ident(word) if words.len() < 2 => words.push((word, u32::from(span.start_line))),
            Token::BlockEnd => match (words.as_slice(), &mut open) {
                ([("macro" | "call", _), ..], None) => macros += 1,
                ([("endmacro" | "endcall", _), ..], None) => macros = macros.saturating_sub(1),
                ([("block", line), (name, _), ..], None) if macros > 0 => {
                    let (start, line) = (tag, *line);
                    open = Some(Block {
                        name,
                        start,
                        line,
                        inner: 0,
                    });
                }
                ([("block", _), ..], Some(block)) => block.inner += 1,
                ([("endblock", _), ..], Some(block)) if block.inner > 0 => block.inner -= 1,
                ([("endblock", _), ..], Some(_)) => {
                    moved.extend(open.take().map(|block| (block.start..end, block)));
                }
                _ => {}
            },
            _ => {}
        }
    }
    if signs.is_empty() && moved.is_empty() {
        return Rewritten {
            text: Cow::Borrowed(text),
            moved_lines: BTreeMap::new(),
            parts: Vec::new(),
        };
    }
    let mut bytes = text.as_bytes().to_vec();
    for sign in signs {
        bytes[sign] = b' ';
    }
    // Only characters of ASCII have changed.
    let plain = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    move_blocks(&plain, moved)
}

fn move_blocks<'a>(text: &str, moved: Vec<(Range<usize>, Block<'a>)>) -> Rewritten<'a> {
    // The last line's end is not part of what a template prints.
    let body = text.strip_suffix('\n').unwrap_or(text);
    let body = body.strip_suffix('\r').unwrap_or(body);
    let (mut shown, mut behind, mut at) =
        (String::with_capacity(text.len() + 64), String::new(), 0);
    let mut line = 1 + lines(body);
    let mut moved_lines = BTreeMap::new();
    let (mut parts, mut parts_behind) = (Vec::new(), Vec::new());
    for (range, block) in moved {
        let whole = &text[range.clone()];
        let trims_before = whole[2..]
            .chars()
            .next()
            .filter(|mark| matches!(mark, '-' | '+'));
        let trims_behind = whole[..whole.len() - 2]
            .chars()
            .next_back()
            .filter(|mark| matches!(mark, '-' | '+'));
        parts.push((shown.len(), at..range.start));
        shown.push_str(&text[at..range.start]);
        shown.push_str("{{");
        shown.extend(trims_before);
        shown.push_str(&format!(
            " self.{}(){} ",
            block.name,
            "\n".repeat(lines(whole) as usize)
        ));
        shown.extend(trims_behind);
        shown.push_str("}}");
        at = range.end;
        behind.push_str("{% if false %}");
        parts_behind.push((behind.len(), range));
        behind.push_str(whole);
        behind.push_str("{% endif %}");
        moved_lines.insert(block.name, line - block.line);
        line += lines(whole);
    }
    parts.push((shown.len(), at.min(body.len())..body.len()));
    shown.push_str(&text[at.min(body.len())..body.len()]);
    let moved = parts_behind.into_iter();
    parts.extend(moved.map(|(start, part)| (shown.len() + start, part)));
    shown.push_str(&behind);
    shown.push_str(&text[body.len()..]);
    Rewritten {
        text: shown.into(),
        moved_lines,
        parts,
    }
}

fn lines(text: &str) -> u32 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_macros_stand_behind_the_text_and_lines_are_counted_back() {
        let text = "a\n{% macro m() %}\n{%- block x -%}\n  b{% block y %}{% endblock %}\n{% endblock +%}\n\
                    {% endmacro %}\n";
        let rewritten = rewrite(text);
        assert_eq!(
            rewritten.text,
            "a\n{% macro m() %}\n{{- self.x()\n\n +}}\n{% endmacro %}{% if false %}{%- block x -%}\n  \
             b{% block y %}{% endblock %}\n{% endblock +%}{% endif %}\n"
        );
        assert_eq!(rewritten.moved_lines, BTreeMap::from([("x", 3)]));
        for word in ["a\n", "macro", "block x", "b{%", "block y", "endmacro"] {
            let at = rewritten.text.find(word).expect(word) as u32;
            assert_eq!(
                Some(rewritten.original(at) as usize),
                text.find(word),
                "{word}"
            );
        }
    }

    #[test]
    fn signs_before_values_are_left_out_and_sums_stay() {
        for (text, expected) in [
            ("{{ +1 }}", "{{  1 }}"),
            (
                "{{ 1 + +a(+2) + b[+1] + 'x' + 1 }}",
                "{{ 1 +  a( 2) + b[ 1] + 'x' + 1 }}",
            ),
            (
                "{% if not +x %}+{% endif %}+",
                "{% if not  x %}+{% endif %}+",
            ),
        ] {
            assert_eq!(rewrite(text).text, expected);
        }
        for kept in [
            "{% block x %}{% endblock %}{{ 1 + 2 }}",
            "{% macro m() %}{% block",
            "{{ 'a' + 'b' ~ +",
        ] {
            assert!(
                matches!(rewrite(kept).text, Cow::Borrowed(_)) || kept.ends_with('+'),
                "{kept}"
            );
        }
    }
}
