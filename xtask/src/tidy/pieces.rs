//! Splits source text into code, texts (what string literals say) and what is hidden: comments and, in Rust, test code.

use std::path::Path;

/// What a part of a source file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Code, with the quotes of its string literals.
    Code,
    /// What stands between the quotes of a literal.
    Text,
    /// Comments, and items under `#[cfg(test)]`.
    Hidden,
}

/// A part of a source file that is of one class.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The line that it begins in, counted from 1.
    pub(super) line: usize,
    pub(super) class: Class,
    pub(super) text: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Lua,
    JavaScript,
}

/// The code and the texts of the file at `path`, in order, without what is hidden. Files in other languages have none.
pub(super) fn pieces<'a>(path: &str, source: &'a str) -> Vec<Piece<'a>> {
    let extension = Path::new(path).extension().and_then(|name| name.to_str());
    let language = match extension {
        Some("rs") => Language::Rust,
        Some("lua") => Language::Lua,
        Some("js") => Language::JavaScript,
        _ => return Vec::new(),
    };
    let mut scanner = Scanner {
        language,
        bytes: source.as_bytes(),
        classes: Vec::with_capacity(source.len()),
    };
    scanner.code(false);
    let mut classes = scanner.classes;
    if language == Language::Rust {
        hide_tests(source, &mut classes);
    }
    let mut pieces = Vec::new();
    let (mut start, mut line) = (0, 1);
    for run in classes.chunk_by(|one, next| one == next) {
        let text = &source[start..start + run.len()];
        if run[0] != Class::Hidden {
            let class = run[0];
            pieces.push(Piece { line, class, text });
        }
        line += text.matches('\n').count();
        start += run.len();
    }
    pieces
}

/// Classifies a source file byte by byte.
struct Scanner<'a> {
    language: Language,
    bytes: &'a [u8],
    /// The class of each byte so far: its length is where the scanner stands.
    classes: Vec<Class>,
}

impl Scanner<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.classes.len()..]
    }

    fn take(&mut self, count: usize, class: Class) {
        let end = (self.classes.len() + count).min(self.bytes.len());
        self.classes.resize(end, class);
    }

    /// Takes everything before `end`, or all that is left.
    fn take_to(&mut self, end: &[u8], class: Class) {
        let rest = self.rest();
        let found = rest.windows(end.len()).position(|bytes| bytes == end);
        self.take(found.unwrap_or(rest.len()), class);
    }

    /// Takes code to the end, or to the `}` that closes a value in a template.
    fn code(&mut self, is_in_template: bool) {
        let mut depth = 0;
        while let Some(&byte) = self.rest().first() {
            if self.comment() || self.literal() {
                continue;
            }
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 0 && is_in_template => return,
                b'}' => depth -= 1,
                _ => {}
            }
            self.take(1, Class::Code);
        }
    }

    /// Takes a comment, if there is one.
    fn comment(&mut self) -> bool {
        let rest = self.rest();
        if self.language == Language::Lua {
            if !rest.starts_with(b"--") {
                return false;
            }
            match long_bracket(&rest[2..]) {
                Some(equals) => {
                    self.take_to(&closing(b']', b'=', equals, b"]"), Class::Hidden);
                    self.take(equals + 2, Class::Hidden);
                }
                None => self.take_to(b"\n", Class::Hidden),
            }
            return true;
        }
        if rest.starts_with(b"//") {
            self.take_to(b"\n", Class::Hidden);
        } else if rest.starts_with(b"/*") {
            let mut depth = 0;
            loop {
                let rest = self.rest();
                if rest.starts_with(b"/*") && (depth == 0 || self.language == Language::Rust) {
                    depth += 1;
                    self.take(2, Class::Hidden);
                } else if rest.starts_with(b"*/") {
                    depth -= 1;
                    self.take(2, Class::Hidden);
                } else {
                    self.take(1, Class::Hidden);
                }
                if depth == 0 || self.rest().is_empty() {
                    break;
                }
            }
        } else {
            return false;
        }
        true
    }

    /// Takes a literal with text in it, if there is one.
    fn literal(&mut self) -> bool {
        let rest = self.rest();
        match (self.language, rest[0]) {
            (_, b'"') => self.quoted(b'"'),
            (Language::Rust, b'\'') => {
                if !is_char(rest) {
                    return false;
                }
                self.quoted(b'\'');
            }
            (Language::Rust, b'r') => {
                let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
                let before = self.classes.len().checked_sub(1).map(|at| self.bytes[at]);
                let is_name = before.is_some_and(|byte| is_word(byte) && !b"bc".contains(&byte));
                if is_name || rest.get(1 + hashes) != Some(&b'"') {
                    return false;
                }
                self.take(hashes + 2, Class::Code);
                self.take_to(&closing(b'"', b'#', hashes, b""), Class::Text);
                self.take(hashes + 1, Class::Code);
            }
            (Language::Lua | Language::JavaScript, b'\'') => self.quoted(b'\''),
            (Language::Lua, b'[') => {
                let Some(equals) = long_bracket(rest) else {
                    return false;
                };
                self.take(equals + 2, Class::Code);
                self.take_to(&closing(b']', b'=', equals, b"]"), Class::Text);
                self.take(equals + 2, Class::Code);
            }
            (Language::JavaScript, b'`') => self.template(),
            (Language::JavaScript, b'/') if self.expects_value() => self.regular_expression(),
            _ => return false,
        }
        true
    }

    /// Takes a literal between `quote`s, in which a backslash escapes.
    fn quoted(&mut self, quote: u8) {
        self.take(1, Class::Code);
        while let Some(&byte) = self.rest().first() {
            if byte == quote {
                self.take(1, Class::Code);
                return;
            }
            self.take(if byte == b'\\' { 2 } else { 1 }, Class::Text);
        }
    }

    fn template(&mut self) {
        self.take(1, Class::Code);
        while let Some(&byte) = self.rest().first() {
            if byte == b'`' {
                self.take(1, Class::Code);
                return;
            }
            if self.rest().starts_with(b"${") {
                self.take(2, Class::Code);
                self.code(true);
                self.take(1, Class::Code);
            } else {
                self.take(if byte == b'\\' { 2 } else { 1 }, Class::Text);
            }
        }
    }

    /// Whether a slash here begins a regular expression, not a division.
    fn expects_value(&self) -> bool {
        let before = self.classes.iter().zip(self.bytes).rev();
        let mut code = before
            .filter(|(class, byte)| **class == Class::Code && !byte.is_ascii_whitespace())
            .map(|(_, byte)| *byte);
        match code.next() {
            Some(b'n') => code.take(5).eq(*b"ruter"),
            last => last.is_none_or(|byte| b"(,=:[!&|?{};+-*%<>~^".contains(&byte)),
        }
    }

    fn regular_expression(&mut self) {
        self.take(1, Class::Code);
        let mut is_in_class = false;
        while let Some(&byte) = self.rest().first() {
            match byte {
                b'/' if !is_in_class => {
                    self.take(1, Class::Code);
                    return;
                }
                b'\n' => return,
                b'[' => is_in_class = true,
                b']' => is_in_class = false,
                _ => {}
            }
            self.take(if byte == b'\\' { 2 } else { 1 }, Class::Text);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a quote begins a character of Rust, not a lifetime.
fn is_char(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(byte) if byte.is_ascii() => rest.get(2) == Some(&b'\''),
        // One character, as no lifetime of ours is beyond ASCII.
        other => other.is_some(),
    }
}

/// The number of `=` in a long bracket of Lua that opens here.
fn long_bracket(rest: &[u8]) -> Option<usize> {
    let inner = rest.strip_prefix(b"[")?;
    let equals = inner.iter().take_while(|byte| **byte == b'=').count();
    (inner.get(equals) == Some(&b'[')).then_some(equals)
}

fn closing(first: u8, middle: u8, count: usize, last: &[u8]) -> Vec<u8> {
    let mut end = vec![first];
    end.resize(count + 1, middle);
    end.extend_from_slice(last);
    end
}

/// Hides each item of Rust under `#[cfg(test)]`: to its closing brace, or to the `;` or `,` of one without.
fn hide_tests(source: &str, classes: &mut [Class]) {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    for (start, _) in source.match_indices(ATTRIBUTE) {
        if classes[start] != Class::Code {
            continue;
        }
        let mut depth = 0;
        let after = start + ATTRIBUTE.len();
        for (class, byte) in classes[after..].iter_mut().zip(&source.as_bytes()[after..]) {
            let is_code = *class == Class::Code;
            *class = Class::Hidden;
            match byte {
                b'{' | b'(' | b'[' if is_code => depth += 1,
                b'}' | b')' | b']' if is_code => {
                    depth -= 1;
                    if depth < 0 || depth == 0 && *byte == b'}' {
                        break;
                    }
                }
                b';' | b',' if is_code && depth == 0 => break,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str, source: &str) -> Vec<String> {
        let pieces = pieces(path, source);
        let texts = pieces.iter().filter(|piece| piece.class == Class::Text);
        texts.map(|piece| piece.text.to_owned()).collect()
    }

    fn code(path: &str, source: &str) -> String {
        let pieces = pieces(path, source);
        let code = pieces.iter().filter(|piece| piece.class == Class::Code);
        code.map(|piece| piece.text).collect()
    }

    #[test]
    fn texts_of_rust_are_found_behind_each_kind_of_quote() {
        let source = r####"f("a\"b", b"c", c"d", r"e\", r#"f"g"#, br##"h"# i"##, '"', 'x', '\'', '§'); fn g<'k>(_: &'k str) {}"####;
        assert_eq!(
            texts("a.rs", source),
            [
                r#"a\"b"#, "c", "d", r"e\", r#"f"g"#, "h\"# i", "\"", "x", r"\'", "§"
            ]
        );
        assert_eq!(code("a.rs", "a/* b /* c */ d */e // f\ng"), "ae \ng");
    }

    #[test]
    fn test_code_of_rust_is_hidden() {
        let source = "a;\n#[cfg(test)]\nmod tests {\n fn f() { \"}\" }\n}\nb;\n#[cfg(test)]\nmod c;\nd(#[cfg(test)] e, f);\n// #[cfg(test)]\ng \"h\"";
        let attributes = code("a.rs", source).replace("#[cfg(test)]", "");
        let left: String = attributes.split_whitespace().collect();
        assert_eq!(left, "a;b;d(f);g\"\"");
        let last = pieces("a.rs", source).pop().expect("there is code");
        assert_eq!((last.line, last.text), (11, "\""));
    }

    #[test]
    fn texts_of_lua_are_found_behind_each_kind_of_quote() {
        let source = "f('a\\'', \"b\", [[c\"]], [==[d]]]==], t[1]) -- 'e'\n--[[ 'f'\n'g' ]] h = 'i' --[==[ ]] 'j' ]==]";
        assert_eq!(
            texts("a.lua", source),
            ["a\\'", "b", "c\"", "d]]", "i"],
            "{}",
            code("a.lua", source)
        );
    }

    #[test]
    fn texts_of_javascript_are_found_behind_each_kind_of_quote() {
        let source = "f('a', \"b\", `c${g({ d: `e` })}h`, /[/']i/, 1 / 2 / 3) // 'j'\nreturn /'k/ /* 'l' */ ; 'm'";
        assert_eq!(
            texts("a.js", source),
            ["a", "b", "c", "e", "h", "[/']i", "'k", "m"]
        );
        assert!(code("a.js", source).contains("g({ d: `` })"));
    }
}
