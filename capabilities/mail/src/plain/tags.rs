//! The tags of a text.
//!
//! Each byte is looked at a few times at most, whatever the text is: this is native code, which no watchdog stops.

use super::references::unescaped;

/// A tag.
pub(super) struct Tag<'a> {
    /// The name in lower case.
    pub(super) name: String,
    pub(super) is_end: bool,
    attributes: &'a str,
}

impl Tag<'_> {
    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let end = rest.find(|c: char| c.is_whitespace() || c == '=')?;
            let (found, after) = rest.split_at(end);
            let after = after.trim_start();
            let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
                rest = after;
                continue;
            };
            let (value, after) = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].split_once(quote)?,
                _ => {
                    let end = value.find(char::is_whitespace).unwrap_or(value.len());
                    value.split_at(end)
                }
            };
            if found.eq_ignore_ascii_case(name) {
                return Some(unescaped(value));
            }
            rest = after;
        }
    }
}

/// Reads the tags of one text, from the first to the last.
#[derive(Default)]
pub(super) struct Tags {
    /// True once a tag had no end: each `<` behind it is text, and no end is searched for again.
    is_over: bool,
}

impl Tags {
    /// Reads the tag that the rest of the text begins with.
    pub(super) fn read<'a>(&mut self, rest: &'a str) -> Option<(Tag<'a>, &'a str)> {
        let inner = rest.strip_prefix('<')?;
        let (is_end, inner) = match inner.strip_prefix('/') {
            Some(inner) => (true, inner),
            None => (false, inner),
        };
        let is_declaration = inner.starts_with('!') || inner.starts_with('?');
        let is_tag = inner.starts_with(|c: char| c.is_ascii_alphabetic()) || is_declaration;
        if self.is_over || !is_tag {
            return None;
        }
        let Some(end) = end(inner) else {
            self.is_over = true;
            return None;
        };
        let whole = &inner[..end];
        let name_end = whole.find(ends_name).unwrap_or(whole.len());
        let tag = Tag {
            name: whole[..name_end].to_ascii_lowercase(),
            is_end,
            attributes: &whole[name_end..],
        };
        Some((tag, &inner[end + 1..]))
    }

    /// Returns what follows the end of an element.
    pub(super) fn behind_end<'a>(&mut self, text: &'a str, name: &str) -> &'a str {
        let mut rest = text;
        while let Some(at) = rest.find("</") {
            let inner = &rest[at + 2..];
            let found = inner.get(..name.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(name))
                && inner[name.len()..].starts_with(|c| c == '>' || ends_name(c))
            {
                return self.read(&rest[at..]).map_or("", |(_, after)| after);
            }
            rest = inner;
        }
        ""
    }
}

fn ends_name(c: char) -> bool {
    c.is_whitespace() || c == '/'
}

/// Returns the place of the `>` that ends a tag. A `>` in a quoted value ends none.
fn end(inner: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += inner[at..].find(['>', '"', '\''])?;
        let quote = match inner[at..].chars().next()? {
            '>' => return Some(at),
            quote => quote,
        };
        at += 1;
        // One that nothing closes is a character as others. It is the last of its kind, and the tag ends behind it: no
        // other tag searches for it.
        at += inner[at..].find(quote).map_or(0, |length| length + 1);
    }
}
