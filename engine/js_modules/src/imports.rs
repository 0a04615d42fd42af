//! The imports of a module, without running it: for those who want all files of a project together.

use crate::nesting::with_stack_for;
use crate::{Kind, Script};
use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{SourceType, Span};
use sampan_host::{Error, ErrorKind};

/// A name that a module imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name as it is written.
    pub name: String,
    /// The line in the source, counted from 1.
    pub line: u32,
    /// The way it is imported.
    pub way: ImportWay,
}

/// The way a module is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportWay {
    /// `import ... from "name"`, which the module does not load without.
    Static,
    /// `import("name")`.
    Dynamic,
    /// `require("name")`.
    Require,
}

impl Script {
    /// Returns the imports whose names that are written out, in their order.
    ///
    /// # Errors
    /// It is nested too deeply.
    pub fn imports(&self) -> Result<Vec<Import>, Error> {
        if self.kind == Kind::Json {
            return Ok(Vec::new());
        }
        let code = String::from_utf8_lossy(&self.code);
        let found = with_stack_for(&code, || self.names(&code));
        let mut found = found
            .map_err(|fault| Error::new(ErrorKind::Load, format!("{}: {fault}", self.path)))?;
        found.sort_by_key(|(at, ..)| *at);
        let imports = found.into_iter().map(|(at, name, way)| Import {
            name,
            line: self.source_line(&code, at),
            way,
        });
        Ok(imports.collect())
    }

    /// The names, and where each is written.
    fn names(&self, code: &str) -> Vec<(usize, String, ImportWay)> {
        let allocator = Allocator::default();
        let kind = match self.kind {
            Kind::CommonJs => SourceType::unambiguous(),
            _ => SourceType::mjs(),
        };
        let options = ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        };
        let parsed = Parser::new(&allocator, code, kind)
            .with_options(options)
            .parse();
        let record = &parsed.module_record;
        let mut found = Vec::new();
        for (name, requests) in &record.requested_modules {
            let needed = requests.iter().filter(|request| !request.is_type);
            found.extend(needed.map(|request| {
                let at = request.span.start as usize;
                (at, name.to_string(), ImportWay::Static)
            }));
        }
        for import in &record.dynamic_imports {
            let Span { start, end, .. } = import.module_request;
            if let Some(name) = code.get(start as usize..end as usize).and_then(quoted) {
                found.push((start as usize, name, ImportWay::Dynamic));
            }
        }
        if self.kind == Kind::CommonJs {
            let required = required(code).into_iter();
            found.extend(required.map(|(at, name)| (at, name, ImportWay::Require)));
        }
        found
    }

    fn source_line(&self, code: &str, at: usize) -> u32 {
        let before = &code[..code.floor_char_boundary(at)];
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1;
        self.source_place(line, column)
            .map_or(line, |place| place.line)
    }
}

/// The text of a literal in quotes without escapes.
fn quoted(literal: &str) -> Option<String> {
    let quote = literal
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_plain = !inner.contains(['\\', '\n', quote]) && !inner.contains("${");
    is_plain.then(|| inner.to_owned())
}

/// The names in calls of `require`, each with its place. One in a comment counts too: what it names is taken along if
/// it is there.
fn required(code: &str) -> Vec<(usize, String)> {
    let calls = code.match_indices("require").filter_map(|(at, word)| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
        if code[..at].ends_with(is_part) {
            return None;
        }
        let argument = code[at + word.len()..]
            .trim_start()
            .strip_prefix('(')?
            .trim_start();
        let end = argument
            .char_indices()
            .skip(1)
            .find(|(_, c)| argument.starts_with(*c))?
            .0;
        let (literal, rest) = argument.split_at(end + 1);
        let name = quoted(literal)?;
        rest.trim_start().starts_with(')').then_some((at, name))
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_require_are_found() {
        let code = "var a = require('a'), b = require ( \"./b\" );\n// require('c')\nobj.require('d'); \
         my_require('e');\n\
                    require(name); require('f' + x); require(`g`); require('h\\n')";
        let names: Vec<String> = required(code).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a", "./b", "c", "g"]);
    }

    #[test]
    fn literals_are_read() {
        assert_eq!(quoted("'./a.js'").as_deref(), Some("./a.js"));
        for other in ["`./${name}.js`", "name", "'a' + 'b'", "'", ""] {
            assert_eq!(quoted(other), None, "{other}");
        }
    }
}
