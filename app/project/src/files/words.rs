//! The words in the scripts of a project.

use crate::files::project::Project;
use crate::files::sources::{SHARED, packages_folder};
use crate::language::Language;
use memchr::memmem::Finder;
use std::path::{Path, PathBuf};

/// The greatest number of names in folders that are looked at, and of bytes of scripts: a start must stay quick.
const NAMES_MAX: usize = 2_000;
const BYTES_MAX: usize = 8 << 20;
/// The folder of packages, whose files are many.
const PACKAGES: &str = "node_modules/";

/// A search that ends where the word is found, or may be.
struct Search<'a> {
    project: &'a Project,
    left_out: &'a [PathBuf],
    word: Finder<'a>,
    names_left: usize,
    bytes_left: usize,
}

impl Project {
    /// Reports whether a script of the project may have a word in its text. True also where that cannot be known in a
    /// short time: there are packages of npm, links to folders, or many files. Folders that hold no scripts of the
    /// server are left out: `templates`, `locales`, and those in `left_out`, relative to the project's.
    pub fn may_have_word(&self, word: &str, left_out: &[PathBuf]) -> bool {
        let mut search = Search {
            project: self,
            left_out,
            word: Finder::new(word),
            names_left: NAMES_MAX,
            bytes_left: BYTES_MAX,
        };
        // One that is given with the command lies in no folder.
        if search.is_in_script(self.entry()) {
            return true;
        }
        if let Some(archive) = self.archive() {
            let mut files = archive.below("");
            return files.any(|(path, _)| !search.is_left_out(path) && search.is_in_script(path));
        }
        let is_in_memory = !self.root().is_absolute();
        is_in_memory || packages_folder(self.root()) != self.root() || search.is_below("")
    }
}

impl Search<'_> {
    /// Reports whether a file or folder lies in one that has no scripts of the server.
    fn is_left_out(&self, path: &str) -> bool {
        let is_in = |folder: &Path| Path::new(path).starts_with(folder);
        SHARED.iter().any(|folder| is_in(Path::new(folder)))
            || self.left_out.iter().any(|folder| is_in(folder))
    }

    /// Returns the names in a folder that are not left out; those of folders end with `/`. `None` where they cannot be
    /// told, or one is a link to a folder.
    fn names(&self, folder: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let entries = std::fs::read_dir(self.project.root().join(folder)).ok()?;
        for entry in entries.take(NAMES_MAX + 1) {
            let entry = entry.ok()?;
            let mut name = entry.file_name().into_string().ok()?;
            if name.starts_with('.') || self.is_left_out(&format!("{folder}{name}")) {
                continue;
            }
            let kind = entry.file_type().ok()?;
            if kind.is_symlink() && entry.path().is_dir() {
                return None;
            }
            if kind.is_dir() {
                name.push('/');
            }
            names.push(name);
        }
        Some(names)
    }

    fn is_below(&mut self, folder: &str) -> bool {
        let Some(names) = self.names(folder) else {
            return true;
        };
        names.iter().any(|name| {
            if name == PACKAGES || self.names_left == 0 {
                return true;
            }
            self.names_left -= 1;
            let path = format!("{folder}{name}");
            match path.ends_with('/') {
                true => self.is_below(&path),
                false => self.is_in_script(&path),
            }
        })
    }

    fn is_in_script(&mut self, path: &str) -> bool {
        if Language::of(path).is_none() {
            return false;
        }
        // Not read first: it may be of gigabytes.
        let length = std::fs::metadata(self.project.root().join(path)).map_or(0, |file| file.len());
        if length > self.bytes_left as u64 {
            return true;
        }
        // One that cannot be read cannot be loaded.
        let text = self.project.sources().read(path).unwrap_or_default();
        if text.len() > self.bytes_left {
            return true;
        }
        self.bytes_left -= text.len();
        self.word.find(&text).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns what is told of a project with these files.
    fn may_fetch(files: &[(&str, &str)]) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let project = Project::find(folder.path()).expect("a project");
        project.may_have_word("fetch", &[PathBuf::from("public")])
    }

    #[test]
    fn a_word_is_found_in_scripts_only() {
        let plain = ("app.lua", "return 1");
        assert!(!may_fetch(&[plain]));
        assert!(may_fetch(&[("app.lua", "app.fetch(url)")]));
        assert!(may_fetch(&[("app.ts", "await fetch(url)")]));
        assert!(may_fetch(&[
            plain,
            ("lib/deep/pay.lua", "local f = app['fetch']")
        ]));
        let others = [
            plain,
            ("public/page.js.map", "fetch"),
            ("templates/a.js", "fetch"),
            ("public/page.js", "fetch"),
            (".git/x.js", "fetch"),
        ];
        assert!(!may_fetch(&others));
    }

    #[test]
    fn what_takes_long_to_search_may_have_the_word() {
        let plain = ("app.js", "1");
        assert!(may_fetch(&[plain, ("node_modules/a/index.js", "1")]));
        let large = "x".repeat(BYTES_MAX);
        assert!(may_fetch(&[plain, ("large.js", &large)]));
        let names: Vec<_> = (0..NAMES_MAX).map(|at| format!("data/{at}.txt")).collect();
        let mut files: Vec<_> = names.iter().map(|name| (&**name, "")).collect();
        files.push(plain);
        assert!(may_fetch(&files));
        assert!(
            Project::in_memory("app.js", &[("app.js", "1")])
                .may_have_word("fetch", &[PathBuf::from("public")])
        );
    }

    #[test]
    fn a_folder_behind_a_link_may_have_the_word() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("project")).expect("a folder");
        let project = folder.path().join("project");
        fs::write(project.join("app.lua"), "return 1").expect("a file");
        let found = || {
            Project::find(&project)
                .expect("a project")
                .may_have_word("fetch", &[PathBuf::from("public")])
        };
        assert!(!found());
        std::os::unix::fs::symlink(folder.path(), project.join("lib")).expect("a link");
        assert!(found());
    }
}
