//! An archive as a source of a project's files: sources of modules, templates and texts, and files for scripts.

use super::Archive;
use sampan_host::Sources;
use sampan_host::sources::{FileReader, PackedFiles};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

impl Sources for Archive {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.content(self.file(self.meant(path))?).ok()
    }

    fn find(&self, path: &str) -> Option<String> {
        let path = self.meant(path);
        self.file(path).map(|_| path.to_owned())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let below = self.below(folder).map(|(path, _)| path);
        let is_shown = |path: &&str| !path[folder.len()..].contains("/.");
        below.filter(is_shown).map(str::to_owned).collect()
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        let mut names = PackedFiles::names(self, folder).unwrap_or_default();
        names.retain(|name| !name.ends_with('/') && !name.starts_with('.'));
        names
    }
}

impl Archive {
    /// The path of the file that a path means, which may be a link.
    fn meant<'a>(&'a self, path: &'a str) -> &'a str {
        let path = path.strip_prefix("./").unwrap_or(path);
        self.links.get(path).map_or(path, |meant| meant)
    }
}

impl PackedFiles for Archive {
    fn open(&self, path: &str) -> Option<(FileReader, u64)> {
        let file = self.file(path)?;
        let reader = PartReader {
            file: Arc::clone(self.executable()),
            at: file.start,
            end: file.start + file.len,
        };
        Some((Box::new(reader), file.len))
    }

    fn names(&self, folder: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        // Those of packages in folders above the project are not in it.
        let inside_project = |(path, _): &(&str, _)| !path.starts_with("../");
        for (path, _) in self.below(folder).filter(inside_project) {
            let inside = &path[folder.len()..];
            let inside = inside.strip_prefix('/').unwrap_or(inside);
            let name = match inside.split_once('/') {
                Some((name, _)) => format!("{name}/"),
                None => inside.to_owned(),
            };
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        names.sort();
        names.dedup();
        Some(names).filter(|names| !names.is_empty())
    }
}

/// Reads a part of a file, whose position others do not need.
struct PartReader {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for PartReader {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let len = piece.len().min(left);
        let read = self.file.read_at(&mut piece[..len], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
