//! Plain text from HTML, for readers whose programs show none.
//!
//! The HTML is an app's own, so this is not a parser for the web: tags, their attributes, comments and character
//! references, and what elements mean for lines of text.

use crate::limits::{INDENTS_MAX, WRAP_CHARS};
use references::unescaped;
use tags::{Tag, Tags};

mod references;
mod tags;

/// The elements whose content is not text.
const SKIPPED: &[&str] = &["head", "script", "style", "title", "template"];
/// The elements that begin a line, and end one.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "div",
    "dl",
    "dt",
    "dd",
    "figure",
    "footer",
    "form",
    "header",
    "html",
    "li",
    "main",
    "nav",
    "section",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
];
/// The elements that stand between empty lines.
const PARAGRAPHS: &[&str] = &[
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre", "ul",
];

/// Returns the text of a page.
pub(crate) fn plain(html: &str) -> String {
    let (mut text, mut tags) = (Text::default(), Tags::default());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.words(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((tag, after)) = tags.read(rest) else {
            text.words("<");
            rest = &rest[1..];
            continue;
        };
        rest = after;
        if SKIPPED.contains(&&*tag.name) && !tag.is_end {
            rest = tags.behind_end(rest, &tag.name);
            continue;
        }
        text.tag(&tag);
    }
    text.words(rest);
    text.finish()
}

/// A text that grows.
#[derive(Default)]
struct Text {
    lines: Vec<String>,
    line: String,
    /// True if a space stood before what comes next.
    has_space: bool,
    /// The kinds of lists that are open, each with the number of its last item.
    lists: Vec<Option<u32>>,
    /// The targets of links that are open, each with the length of the text before.
    links: Vec<(Option<String>, String)>,
    /// True inside of `pre`.
    is_preformatted: bool,
}

impl Text {
    fn words(&mut self, html: &str) {
        let text = unescaped(html);
        if self.is_preformatted {
            for (at, line) in text.split('\n').enumerate() {
                if at > 0 {
                    self.end_line();
                }
                self.line.push_str(line);
                self.note(line);
            }
            return;
        }
        for c in text.chars() {
            // A space that does not break stays.
            if c.is_ascii_whitespace() {
                self.has_space = true;
                continue;
            }
            if std::mem::take(&mut self.has_space) && !self.line.is_empty() {
                self.line.push(' ');
                self.note(" ");
            }
            self.line.push(c);
            self.note(c.encode_utf8(&mut [0; 4]));
        }
    }

    /// Adds to the texts of links that are open.
    fn note(&mut self, text: &str) {
        if let Some((_, shown)) = self.links.last_mut() {
            shown.push_str(text);
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        match (tag.name.as_str(), tag.is_end) {
            ("br", _) => self.end_line(),
            ("hr", false) => {
                self.paragraph();
                self.line.push_str("---");
                self.paragraph();
            }
            ("img", false) => {
                if let Some(alt) = tag.attribute("alt") {
                    self.words(&alt.replace('&', "&amp;"));
                }
            }
            ("a", false) => {
                let target = tag.attribute("href").filter(|href| {
                    ["http:", "https:", "mailto:"]
                        .iter()
                        .any(|scheme| href.starts_with(scheme))
                });
                self.links.push((target, String::new()));
            }
            ("a", true) => {
                if let Some((Some(target), shown)) = self.links.pop() {
                    let address = target.strip_prefix("mailto:").unwrap_or(&target);
                    if shown.trim() != address {
                        self.has_space = !shown.is_empty();
                        self.words(&format!("({address})").replace('&', "&amp;"));
                    }
                }
            }
            ("ul" | "ol", is_end) => {
                let is_inner = self.lists.len() > usize::from(is_end);
                match is_inner {
                    true => self.end_block(),
                    false => self.paragraph(),
                }
                match is_end {
                    true => drop(self.lists.pop()),
                    false => self.lists.push((tag.name == "ol").then_some(0)),
                }
            }
            ("li", false) => {
                self.end_block();
                let depth = self.lists.len().saturating_sub(1);
                self.line.push_str(&"  ".repeat(depth.min(INDENTS_MAX)));
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        self.line.push_str(&format!("{number}. "));
                    }
                    _ => self.line.push_str("- "),
                }
                self.has_space = false;
            }
            ("pre", is_end) => {
                self.paragraph();
                self.is_preformatted = !is_end;
            }
            ("td" | "th", true) => self.has_space = true,
            (name, _) if PARAGRAPHS.contains(&name) => self.paragraph(),
            (name, _) if BLOCKS.contains(&name) => self.end_block(),
            _ => {}
        }
    }

    /// Ends a line, which may be empty.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.lines.push(line.trim_end().to_owned());
        self.has_space = false;
    }

    /// Ends a line, if one has begun.
    fn end_block(&mut self) {
        if !self.line.trim().is_empty() {
            self.end_line();
        }
        self.line.clear();
        self.has_space = false;
    }

    /// Leaves an empty line.
    fn paragraph(&mut self) {
        self.end_block();
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn finish(mut self) -> String {
        self.end_block();
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        let mut out = String::new();
        for line in &self.lines {
            wrap(line, &mut out);
            out.push('\n');
        }
        out
    }
}

/// Breaks a line between words.
fn wrap(line: &str, out: &mut String) {
    if line.chars().count() <= WRAP_CHARS {
        out.push_str(line);
        return;
    }
    let indent = line.len() - line.trim_start().len();
    let mut length = 0;
    for (at, word) in line.trim_start().split(' ').enumerate() {
        let chars = word.chars().count();
        if at == 0 {
            out.push_str(&line[..indent]);
            length = indent;
        } else if length + 1 + chars > WRAP_CHARS {
            out.push('\n');
            length = 0;
        } else {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += chars;
    }
}

#[cfg(test)]
mod tests;
