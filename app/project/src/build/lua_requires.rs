//! The modules that a Lua file requires by names that are written out, at its top level.

/// Modules that are not files.
pub(super) const BUILT_IN: [&str; 19] = [
    "sampan",
    "_G",
    "string",
    "table",
    "math",
    "bit",
    "coroutine",
    "os",
    "io",
    "debug",
    "utf8",
    "package",
    "string.buffer",
    "table.new",
    "table.clear",
    "table.clone",
    "table.isarray",
    "table.isempty",
    "table.nkeys",
];

/// The modules that a file requires.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Requires {
    /// The names that it requires whenever it runs, with their lines, counted from 1.
    pub(super) names: Vec<(usize, String)>,
    /// True if it changes where modules are looked for.
    pub(super) changes_path: bool,
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    Text(&'a str),
    Other(char),
}

/// Reads a file.
pub(super) fn requires(text: &str) -> Requires {
    let tokens: Vec<(usize, Token<'_>)> = Tokens { text, at: 0 }.collect();
    let mut requires = Requires::default();
    // The blocks that are open. What stands in a function or behind a condition may never run.
    let mut depth = 0_usize;
    for (index, (at, token)) in tokens.iter().enumerate() {
        let ahead = |count: usize| tokens.get(index + count).map(|(_, token)| token);
        match token {
            Token::Name("function" | "if" | "do" | "repeat") => depth += 1,
            Token::Name("end" | "until") => depth = depth.saturating_sub(1),
            Token::Name("package") if ahead(1) == Some(&Token::Other('.')) => {
                requires.changes_path |= matches!(
                    ahead(2),
                    Some(Token::Name(
                        "path" | "preload" | "loaders" | "searchers" | "loaded"
                    ))
                );
            }
            Token::Name("require") if depth == 0 => {
                let before = index.checked_sub(1).map(|before| &tokens[before].1);
                // Behind `and` and `or` it may never run.
                let is_other = matches!(
                    before,
                    Some(
                        Token::Other('.' | ':') | Token::Name("function" | "local" | "and" | "or")
                    )
                );
                let name = match (ahead(1), ahead(2), ahead(3)) {
                    (Some(Token::Text(name)), ..) => Some(name),
                    (Some(Token::Other('(')), Some(Token::Text(name)), Some(Token::Other(')'))) => {
                        Some(name)
                    }
                    _ => None,
                };
                if let Some(name) = name.filter(|name| !is_other && !name.contains('\\')) {
                    let line = text[..*at].matches('\n').count() + 1;
                    requires.names.push((line, (*name).to_owned()));
                }
            }
            _ => {}
        }
    }
    requires
}

/// Splits a text into names, texts and single characters; comments are left out.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            let start = self.at;
            if let Some(comment) = rest.strip_prefix("--") {
                self.at += 2;
                match long_bracket(comment) {
                    Some((_, len)) => self.at += len,
                    None => self.at += comment.find('\n').unwrap_or(comment.len()),
                }
                continue;
            }
            if first.is_whitespace() {
                self.at += first.len_utf8();
                continue;
            }
            if first.is_alphabetic() || first == '_' {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                self.at += len;
                return Some((start, Token::Name(&rest[..len])));
            }
            if let Some((inner, len)) = long_bracket(rest) {
                self.at += len;
                return Some((start, Token::Text(inner)));
            }
            if matches!(first, '"' | '\'') {
                let len = quoted(rest, first);
                self.at += len;
                let inner = rest[1..len].strip_suffix(first).unwrap_or(&rest[1..len]);
                return Some((start, Token::Text(inner)));
            }
            self.at += first.len_utf8();
            return Some((start, Token::Other(first)));
        }
    }
}

/// `[[text]]`, `[==[text]==]`: the text, and how long all of it is.
fn long_bracket(rest: &str) -> Option<(&str, usize)> {
    let inner = rest.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    let inner = inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    let open_len = level + 2;
    Some(match inner.find(&close) {
        Some(end) => (&inner[..end], open_len + end + close.len()),
        None => (inner, rest.len()),
    })
}

/// Returns the length of a text in quotes, with the quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(usize, String)> {
        requires(text).names
    }

    #[test]
    fn what_runs_in_any_case_is_found() {
        let text = "local app = require 'sampan'\nlocal a, b = require(\"a.b\"), require [[c]]\n-- require \
         'd'\n--[==[ require 'e'\n]==]\n\
                    local s = \"require 'f'\"\nlocal function g() return require 'h' end\nif x then require 'i' \
                     end\nreturn require 'j'";
        let found = names(text);
        let expected = [(1, "sampan"), (2, "a.b"), (2, "c"), (9, "j")];
        assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
    }

    #[test]
    fn blocks_end_where_they_end() {
        let text = "for i = 1, 2 do local f = function() if a then elseif b then else end end end\nrepeat local x = 1 \
         until x\nwhile x do end\n\
                    do require 'inner' end\nrequire 'outer'";
        assert_eq!(names(text), [(5, "outer".to_owned())]);
    }

    #[test]
    fn what_is_no_name_is_left_alone() {
        for text in [
            "require(name)",
            "require('a' .. b)",
            "x.require 'a'",
            "pcall(require, 'a')",
            "local a = x and require('a')",
            "local a = x or require 'a'",
            "local require = 1",
            "require",
            "'unfinished",
            "[[unfinished",
        ] {
            assert_eq!(names(text), [], "{text}");
        }
    }

    #[test]
    fn a_changed_path_is_noticed() {
        assert!(requires("package.path = 'x/?.lua;' .. package.path").changes_path);
        assert!(requires("package.preload.a = f").changes_path);
        assert!(!requires("local package = {} package.name = 1").changes_path);
    }
}
