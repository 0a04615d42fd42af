//! Reads the chapters of `docs/`: their blocks of code, headings and links.
//!
//! A comment `<!-- test ... -->` before a block says in TOML how the block is tried. `testkit/tests/docs` explains its
//! keys.

use std::io;
use std::path::Path;

/// One page of Markdown.
pub struct Chapter {
    /// The path below the folder that was read, with `/`.
    pub path: String,
    /// The blocks of code, in order.
    pub blocks: Vec<Block>,
    /// The ids of its headings, as mdBook and GitHub make them.
    pub anchors: Vec<String>,
    /// The links, each with its line.
    pub links: Vec<(usize, String)>,
}

/// A block of code between two fences.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its first fence.
    pub line: usize,
    /// The word behind that fence.
    pub language: String,
    /// The lines between the fences.
    pub code: String,
    /// The text of the comment before it.
    pub note: Option<String>,
    /// True if it stands directly below another one, which it belongs to.
    pub continues: bool,
}

enum Place {
    Text,
    Note,
    Code,
}

impl Chapter {
    /// All pages below a folder, by path.
    ///
    /// # Errors
    /// A folder or a page cannot be read.
    pub fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut chapters = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(place) = folders.pop() {
            for entry in std::fs::read_dir(place)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    let name = path.strip_prefix(folder).unwrap_or(&path);
                    let name = name.display().to_string();
                    chapters.push(Self::parse(&name, &std::fs::read_to_string(&path)?));
                }
            }
        }
        chapters.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(chapters)
    }

    /// Reads the text of a page.
    pub fn parse(path: &str, text: &str) -> Self {
        let mut chapter = Self {
            path: path.to_owned(),
            blocks: Vec::new(),
            anchors: Vec::new(),
            links: Vec::new(),
        };
        let (mut place, mut is_adjacent) = (Place::Text, false);
        let mut note: Option<String> = None;
        for (index, line) in text.lines().enumerate() {
            let fence = line.trim_start().strip_prefix("```");
            match (&place, fence) {
                (Place::Note, _) if line.contains("-->") => place = Place::Text,
                (Place::Note, _) => {
                    let text = note.get_or_insert_default();
                    *text += line;
                    *text += "\n";
                }
                (Place::Code, Some("")) => {
                    place = Place::Text;
                    is_adjacent = true;
                }
                (Place::Code, _) => {
                    if let Some(block) = chapter.blocks.last_mut() {
                        block.code += line;
                        block.code += "\n";
                    }
                }
                (Place::Text, Some(language)) => {
                    place = Place::Code;
                    chapter.blocks.push(Block {
                        line: index + 1,
                        language: language.to_owned(),
                        code: String::new(),
                        continues: is_adjacent && note.is_none(),
                        note: note.take(),
                    });
                }
                (Place::Text, None) if line.starts_with("<!-- test") => {
                    // On one line, or over several.
                    let rest = line.trim_start_matches("<!-- test").trim();
                    let whole = rest.strip_suffix("-->");
                    note = Some(format!("{}\n", whole.unwrap_or(rest).trim()));
                    if whole.is_none() {
                        place = Place::Note;
                    }
                }
                (Place::Text, None) => {
                    is_adjacent &= line.trim().is_empty();
                    chapter.read_prose(index + 1, line);
                }
            }
        }
        chapter
    }

    /// The blocks that stand directly below each other, together.
    pub fn examples(&self) -> Vec<Vec<&Block>> {
        let mut examples: Vec<Vec<&Block>> = Vec::new();
        for block in &self.blocks {
            match examples.last_mut() {
                Some(example) if block.continues => example.push(block),
                _ => examples.push(vec![block]),
            }
        }
        examples
    }

    fn read_prose(&mut self, number: usize, line: &str) {
        if let Some((_, heading)) = line.split_once("# ")
            && line.starts_with('#')
        {
            let id = anchor(heading);
            let count = |id: &str| self.anchors.iter().filter(|other| *other == id).count();
            let id = match count(&id) {
                0 => id,
                times => format!("{id}-{times}"),
            };
            self.anchors.push(id);
        }
        // What stands between backticks is not a link.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in prose.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                self.links.push((number, target.to_owned()));
            }
        }
    }
}

/// The id of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '_' | '-' => Some(letter),
        letter => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A `db.query` page\n\nSee [there](b.md#x), not `[this](c.md)`.\n\n<!-- test\nskip \
     = \"a\"\n-->\n```lua\nreturn 1\n```\n```js\n[a](b)\n```\n\nText.\n\n<!-- test continues = true \
     -->\n```sh\nls\n```\n## Again\n## Again\n";

    #[test]
    fn a_page_is_read() {
        let page = Chapter::parse("a.md", PAGE);
        assert_eq!(page.anchors, ["a-dbquery-page", "again", "again-1"]);
        assert_eq!(page.links, [(3, "b.md#x".to_owned())]);
        let examples = page.examples();
        assert_eq!(examples.len(), 2);
        assert_eq!(examples[0].len(), 2);
        assert_eq!(
            (examples[0][0].line, examples[0][0].code.as_str()),
            (8, "return 1\n")
        );
        assert_eq!(examples[0][0].note.as_deref(), Some("\nskip = \"a\"\n"));
        assert_eq!(examples[0][1].language, "js");
        assert_eq!(examples[1][0].note.as_deref(), Some("continues = true\n"));
    }
}
