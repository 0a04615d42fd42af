//! Source maps: from a place in the code that runs to the place in the file that a person wrote.
//!
//! The format is ECMA-426. Maps come from the transformation, or from a comment `//# sourceMappingURL=` at the end of a
//! file that was bundled elsewhere: a `data:` URL, or the name of a file beside it.

use crate::paths::{is_outside, join, parent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sampan_host::Sources;
use std::sync::Arc;

/// The text of the comment before the map.
const COMMENT: &[u8] = b"sourceMappingURL=";

/// A place in a source, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file, relative to the project's folder where it lies in that.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The origin of a script's map.
pub(crate) enum MapOrigin {
    /// No map.
    None,
    /// Made together with the code.
    Made,
    /// The URL in the comment.
    Url(String),
}

impl MapOrigin {
    /// Reads the last line of a text that is not empty says.
    pub(crate) fn of_text(code: &[u8]) -> Self {
        let code = code.trim_ascii_end();
        let start = code
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let last = code[start..].trim_ascii();
        let url = last
            .strip_prefix(b"//# ")
            .or_else(|| last.strip_prefix(b"//@ "))
            .and_then(|comment| comment.strip_prefix(COMMENT))
            .and_then(|url| std::str::from_utf8(url).ok());
        url.map_or(Self::None, |url| Self::Url(url.to_owned()))
    }

    /// The map; `None` if there is none that can be read.
    pub(crate) fn read(&self, path: &str, sources: &dyn Sources) -> Option<SourceMap> {
        match self {
            Self::None | Self::Made => None,
            Self::Url(url) => {
                let (text, folder) = text_of(url, path, sources)?;
                let map = oxc_sourcemap::SourceMap::from_json_string(&text).ok()?;
                let root = map.get_source_root().unwrap_or_default();
                let name = |source: &str| match source.contains(':') {
                    true => shown(source),
                    false => join(&join(&folder, root), source),
                };
                let files = map.get_sources().map(name).collect();
                Some(SourceMap::new(&map, files, true))
            }
        }
    }
}

/// The text of a map, and the folder that its sources are relative to.
fn text_of(url: &str, path: &str, sources: &dyn Sources) -> Option<(String, String)> {
    let folder = parent(path);
    if let Some(data) = url.strip_prefix("data:") {
        let (kind, data) = data.split_once(',')?;
        if !kind.ends_with(";base64") {
            return None;
        }
        let bytes = STANDARD.decode(data.trim()).ok()?;
        return Some((String::from_utf8(bytes).ok()?, folder));
    }
    let beside = join(&folder, url);
    if url.contains(':') || url.starts_with('/') || is_outside(&beside) != is_outside(path) {
        return None;
    }
    let text = String::from_utf8(sources.read(&beside)?).ok()?;
    Some((text, parent(&beside)))
}

/// A source that is an address, such as `webpack://app/./src/a.ts`, without what is no path.
fn shown(source: &str) -> String {
    let rest = source.split_once("://").map_or(source, |(_, rest)| rest);
    join("", rest)
}

/// A map, with the files that its sources are.
pub(crate) struct SourceMap {
    /// In the order of the code.
    tokens: Vec<Token>,
    files: Vec<String>,
    /// The texts of the sources, where the map has them.
    texts: Vec<Option<Arc<str>>>,
}

/// From a place in the code to one in a source, both counted from 0. A stretch without a source has none.
struct Token {
    line: u32,
    column: u32,
    source: Option<(u32, u32, u32)>,
}

impl SourceMap {
    /// A map whose sources are these files.
    pub(crate) fn new(
        map: &oxc_sourcemap::SourceMap<'_>,
        files: Vec<String>,
        with_texts: bool,
    ) -> Self {
        let tokens = map.get_tokens().map(|token| Token {
            line: token.get_dst_line(),
            column: token.get_dst_col(),
            source: token
                .get_source_id()
                .map(|id| (id, token.get_src_line(), token.get_src_col())),
        });
        let mut tokens: Vec<Token> = tokens.collect();
        tokens.sort_by_key(|token| (token.line, token.column));
        let texts = if with_texts {
            map.get_source_contents()
                .map(|text| text.map(Arc::from))
                .collect()
        } else {
            Vec::new()
        };
        Self {
            tokens,
            files,
            texts,
        }
    }

    /// Both count from 1; the map counts from 0.
    pub(crate) fn source_place(&self, line: u32, column: u32) -> Option<SourcePlace> {
        let (line, column) = (line.checked_sub(1)?, column.saturating_sub(1));
        let behind = self
            .tokens
            .partition_point(|token| (token.line, token.column) <= (line, column));
        // Where nothing stands before it on its line, the first of the line is nearest.
        let before = behind.checked_sub(1).map(|at| &self.tokens[at]);
        let token = before
            .filter(|token| token.line == line)
            .or_else(|| self.tokens.get(behind).filter(|token| token.line == line))?;
        let (source, source_line, source_column) = token.source?;
        Some(SourcePlace {
            file: self.files.get(source as usize)?.clone(),
            line: source_line.saturating_add(1),
            column: source_column.saturating_add(1),
        })
    }

    /// Returns the source that the map contains.
    pub(crate) fn text(&self, file: &str) -> Option<Arc<str>> {
        let index = self.files.iter().position(|known| known == file)?;
        self.texts.get(index)?.clone()
    }
}
