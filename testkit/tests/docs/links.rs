//! Links and the table of contents.

use crate::root;
use libtest_mimic::{Failed, Trial};
use sampan_testkit::docs::Chapter;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Pages at the root of the repository whose links are checked too.
const AT_ROOT: [&str; 4] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

pub(crate) fn trials(chapters: Vec<Chapter>) -> Vec<Trial> {
    let docs = Arc::new(chapters);
    let checked = Arc::clone(&docs);
    let links = Trial::test("links::chapters", move || {
        let mut faults = Vec::new();
        for chapter in checked.iter() {
            for (line, target) in &chapter.links {
                if let Err(fault) = check(&checked, chapter, target) {
                    faults.push(format!("docs/{}:{line}: {target}: {fault}", chapter.path));
                }
            }
        }
        told(&faults)
    });
    let linked = Arc::clone(&docs);
    let at_root = Trial::test("links::repository", move || {
        let mut faults = Vec::new();
        for name in AT_ROOT {
            let page = Chapter::parse(name, &std::fs::read_to_string(root().join(name))?);
            for (line, target) in &page.links {
                if let Err(fault) = check_at_root(&linked, &page, target) {
                    faults.push(format!("{name}:{line}: {target}: {fault}"));
                }
            }
        }
        told(&faults)
    });
    vec![
        links,
        at_root,
        Trial::test("summary", move || summary(&docs)),
    ]
}

fn told(faults: &[String]) -> Result<(), Failed> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n").into())
    }
}

fn check(chapters: &[Chapter], from: &Chapter, target: &str) -> Result<(), String> {
    if target.starts_with("https://") || target.starts_with("http://127.0.0.1") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&from.path).parent().unwrap_or(Path::new(""));
    let path = match path {
        "" => PathBuf::from(&from.path),
        path => {
            normal(&folder.join(path)).ok_or("it leads out of docs/, and so out of the book")?
        }
    };
    let found = chapters
        .iter()
        .find(|chapter| Path::new(&chapter.path) == path);
    match found {
        None if root().join("docs").join(&path).is_file() => Ok(()),
        None => Err("there is no such page".to_owned()),
        Some(chapter) => has_anchor(chapter, anchor),
    }
}

fn check_at_root(chapters: &[Chapter], from: &Chapter, target: &str) -> Result<(), String> {
    if target.starts_with("https://") || target.starts_with("http://127.0.0.1") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let chapter = match path.strip_prefix("docs/") {
        _ if path.is_empty() => Some(from),
        Some(path) => chapters.iter().find(|chapter| chapter.path == path),
        None => None,
    };
    match chapter {
        Some(chapter) => has_anchor(chapter, anchor),
        None if root().join(path).exists() => Ok(()),
        None => Err("there is no such file".to_owned()),
    }
}

fn has_anchor(chapter: &Chapter, anchor: &str) -> Result<(), String> {
    if anchor.is_empty() || chapter.anchors.iter().any(|known| known == anchor) {
        return Ok(());
    }
    Err(format!("the page has no heading #{anchor}"))
}

/// The path without `.` and `..`; nothing if it leads out of its root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !normal.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            part => normal.push(part),
        }
    }
    Some(normal)
}

/// Every page stands in the table of contents once.
fn summary(chapters: &[Chapter]) -> Result<(), Failed> {
    let is_summary = |chapter: &&Chapter| chapter.path == "SUMMARY.md";
    let summary = chapters.iter().find(is_summary);
    let links = &summary.ok_or("docs/SUMMARY.md is missing")?.links;
    let listed: BTreeSet<&str> = links.iter().map(|(_, target)| target.as_str()).collect();
    let pages = chapters.iter().filter(|chapter| !is_summary(chapter));
    let pages: BTreeSet<&str> = pages.map(|chapter| chapter.path.as_str()).collect();
    let mut faults: Vec<String> = Vec::new();
    for page in pages.difference(&listed) {
        faults.push(format!("docs/SUMMARY.md does not list {page}"));
    }
    for page in listed.difference(&pages) {
        faults.push(format!("docs/SUMMARY.md lists {page}, which is not there"));
    }
    if listed.len() != links.len() {
        faults.push("docs/SUMMARY.md lists a page twice".to_owned());
    }
    told(&faults)
}
