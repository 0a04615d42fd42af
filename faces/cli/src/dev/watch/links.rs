//! The links of a project's folder. The system watches a folder once, by one of its paths, and tells only that one.

use std::path::{Path, PathBuf};

/// The folders that links in the project's folder lead to, each with the path of its link.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<(PathBuf, PathBuf)>);

impl Links {
    /// Finds the links of a project's folder.
    pub(super) fn of(root: &Path) -> Self {
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let entries = std::fs::read_dir(root).into_iter().flatten();
        let links = entries.flatten();
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let links = links.filter_map(|entry| {
            let link = entry.path();
            let target = link.canonicalize().ok()?;
            // As the project's own folders are named.
            let target = match target.strip_prefix(&real_root) {
                Ok(below) => root.join(below),
                Err(_) => target,
            };
            target.is_dir().then_some((target, link))
        });
        Self(links.collect())
    }

    /// Returns all paths of the file at a path: itself, and those by links.
    pub(super) fn names(&self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        let mut links = self.0.iter();
        let target =
            links.find_map(|(target, link)| Some(join(target, path.strip_prefix(link).ok()?)));
        names.extend(target);
        let real = names[names.len() - 1].clone();
        for (target, link) in &self.0 {
            if let Ok(below) = real.strip_prefix(target) {
                let name = join(link, below);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

/// Joins a folder and a path below it, which may be empty.
fn join(folder: &Path, below: &Path) -> PathBuf {
    match below.as_os_str().is_empty() {
        true => folder.to_owned(),
        false => folder.join(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_names_of_all_links_to_its_folder() {
        let link = |target: &str, link: &str| (target.into(), link.into());
        let links = Links(vec![link("/p/a", "/p/templates"), link("/p/a", "/p/b")]);
        for (path, expected) in [
            ("/p/a/x", "/p/a/x /p/templates/x /p/b/x"),
            ("/p/b/x", "/p/b/x /p/a/x /p/templates/x"),
            ("/p/a", "/p/a /p/templates /p/b"),
            ("/p/c/x", "/p/c/x"),
        ] {
            let expected: Vec<PathBuf> = expected.split(' ').map(PathBuf::from).collect();
            assert_eq!(links.names(Path::new(path)), expected);
        }
    }
}
