//! The languages of projects.

/// The language of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Lua.
    Lua,
    /// JavaScript, and TypeScript that becomes it.
    Js,
}

impl Language {
    /// The language of a file, by its name.
    pub fn of(entry: &str) -> Option<Self> {
        match entry.rsplit_once('.')?.1 {
            "lua" => Some(Self::Lua),
            "js" | "mjs" | "jsx" | "ts" | "mts" | "tsx" => Some(Self::Js),
            _ => None,
        }
    }
}
