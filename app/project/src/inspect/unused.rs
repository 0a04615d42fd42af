//! Files that nothing uses: scripts that were not loaded and that no other script names, and templates that are
//! named nowhere.

use super::finding::Finding;
use super::read_files::ReadFiles;
use crate::files::{Project, SHARED, TEMPLATES};
use crate::language::Language;
use std::collections::BTreeSet;
use std::fs;

/// Folders whose scripts are not the app's, in every project, beside [`SHARED`].
const OTHERS: [&str; 5] = ["node_modules", "lua_modules", "tests", "scripts", "types"];

/// The folders among them whose scripts are run by commands of their own, and use files of the project: `sampan test`
/// and `sampan exec`.
const OF_COMMANDS: [&str; 2] = ["tests", "scripts"];

/// The endings of templates that a mail names without them.
const MAIL_ENDINGS: [&str; 2] = [".html", ".txt"];

/// The scripts of a project.
pub struct Scripts {
    /// Those that were loaded, and those of commands, with their texts.
    known: Vec<(String, String)>,
    /// The number of loaded modules.
    loaded: usize,
    /// The others.
    others: Vec<String>,
}

impl Scripts {
    /// Finds them. `skipped` are folders of other things.
    pub fn of(project: &Project, read: &ReadFiles, skipped: &[&str]) -> Self {
        let read: BTreeSet<String> = read
            .paths()
            .into_iter()
            .filter(|path| is_own(path))
            .collect();
        let mut others = Vec::new();
        let entries = fs::read_dir(project.root()).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_skipped = [&OTHERS[..], &SHARED, skipped]
                .iter()
                .any(|folders| folders.contains(&&*name));
            if name.starts_with('.') || is_skipped {
                continue;
            }
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => others.extend(project.sources().list(&name)),
                false => others.push(name),
            }
        }
        others.retain(|path| is_own(path) && !is_of_tools(path) && !read.contains(path));
        others.sort();
        let of_commands = OF_COMMANDS
            .into_iter()
            .flat_map(|folder| project.sources().list(folder));
        let of_commands = of_commands.filter(|path| is_own(path) && !read.contains(path));
        let of_commands: Vec<String> = of_commands.collect();
        let text = |path: String| {
            let bytes = project.sources().read(&path)?;
            Some((path, String::from_utf8_lossy(&bytes).into_owned()))
        };
        let loaded: Vec<_> = read.into_iter().filter_map(text).collect();
        let count = loaded.len();
        Self {
            known: loaded
                .into_iter()
                .chain(of_commands.into_iter().filter_map(text))
                .collect(),
            loaded: count,
            others,
        }
    }

    /// The scripts that were loaded, with their texts.
    pub fn texts(&self) -> &[(String, String)] {
        &self.known[..self.loaded]
    }

    /// Returns the files that nothing uses.
    pub fn unused(&self, project: &Project, templates: &[String]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for path in &self.others {
            let file = path.rsplit('/').next().unwrap_or(path);
            let stem = file.split('.').next().unwrap_or(file);
            // What loads a folder names that, as `init.lua` and `index.js`.
            let folder = path.rsplit('/').nth(1).unwrap_or(stem);
            let stem = if matches!(stem, "init" | "index") {
                folder
            } else {
                stem
            };
            if !self.known.iter().any(|(_, text)| names(text, stem)) {
                let text = "no script that is loaded imports it";
                findings.push(Finding::warning(path, None, text));
            }
        }
        let of_template = |name: &String| {
            let bytes = project.sources().read(&format!("{TEMPLATES}/{name}"))?;
            Some((name.clone(), String::from_utf8_lossy(&bytes).into_owned()))
        };
        let texts: Vec<_> = templates.iter().filter_map(of_template).collect();
        for name in templates {
            let mut called = vec![name.as_str()];
            called.extend(MAIL_ENDINGS.iter().filter_map(|end| name.strip_suffix(end)));
            let by_scripts = self
                .texts()
                .iter()
                .any(|(_, text)| called.iter().any(|name| names(text, name)));
            let by_others = texts
                .iter()
                .any(|(of, text)| of != name && names(text, name));
            if !by_scripts && !by_others {
                let text = "no script and no other template names it";
                let file = format!("{TEMPLATES}/{name}");
                findings.push(Finding::warning(&file, None, text));
            }
        }
        findings
    }
}

/// Reports whether it is a script, and not one of a package.
fn is_own(path: &str) -> bool {
    Language::of(path).is_some()
        && !path
            .split('/')
            .any(|part| matches!(part, "node_modules" | "lua_modules"))
}

/// Declarations of types, and what configures tools of others.
fn is_of_tools(path: &str) -> bool {
    path.ends_with(".d.ts") || path.ends_with(".d.mts") || path.contains(".config.")
}

/// Reports whether a text has a name in it that is a part of a literal: behind a quote or a separator, and before one.
pub fn names(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        before.is_some_and(|one| matches!(one, '"' | '\'' | '`' | '/' | '.' | '['))
            && behind.is_some_and(|one| matches!(one, '"' | '\'' | '`' | '/' | '.' | ']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_literals() {
        assert!(names("require \"lib.users\"", "users"));
        assert!(names("import { a } from './users.js'", "users"));
        assert!(names("render(\"a/b.html\")", "a/b.html"));
        assert!(!names("local users = 1", "users"));
        assert!(!names("require 'superusers'", "users"));
    }
}
