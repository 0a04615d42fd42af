//! The paths that a script may give, hostile ones among them, on a real disk.

use super::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

thread_local! {
    /// The folders that this thread has synced.
    static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn note_sync(folder: &Dir) {
    use std::os::fd::AsRawFd;
    let path = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    SYNCED.with_borrow_mut(|synced| synced.push(path.expect("an open folder")));
}

const SECRET: &[u8] = b"outside";

fn config(root: &Path, durability: Durability) -> FilesConfig {
    FilesConfig {
        project: root.join("project"),
        packed: None,
        storage: root.join("project/storage"),
        temp: None,
        durability,
        forms: FormLimits::default(),
    }
}

/// A project with a storage folder, and a file beside it that must be unreachable.
struct Tree {
    root: tempfile::TempDir,
    storage: Storage,
}

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let at = |path: &str| root.path().join(path);
        for folder in ["outside", "project/storage/a", "project/data"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        fs::write(at("outside/secret"), SECRET).expect("a file");
        fs::write(at("outside/marker"), SECRET).expect("a file");
        fs::write(at("project/app.lua"), SECRET).expect("a file");
        fs::write(at("project/data/cities"), "inside").expect("a file");
        fs::write(at("project/storage/a/b"), "inside").expect("a file");
        let link = |to: &Path, path: &str| symlink(to, at(path)).expect("a link");
        link(&at("outside"), "project/storage/absolute");
        link(Path::new("../../outside"), "project/storage/out");
        link(Path::new("../app.lua"), "project/storage/file_out");
        link(
            Path::new("../../../outside/new"),
            "project/storage/a/nowhere",
        );
        link(Path::new("a"), "project/storage/in");
        link(Path::new(".."), "project/storage/up");
        link(&at("outside"), "project/data/out");
        let storage = Storage::new(config(root.path(), Durability::Normal));
        Self { root, storage }
    }

    /// Everything that lies outside of the storage folder, with its content.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.root.path().to_owned()];
        let storage = self.root.path().join("project/storage");
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a list") {
                let path = entry.expect("an entry").path();
                let kind = path.symlink_metadata().expect("there").file_type();
                if kind.is_dir() && path != storage {
                    folders.push(path.clone());
                }
                let content = if kind.is_file() {
                    fs::read(&path).expect("a file")
                } else {
                    Vec::new()
                };
                found.insert(path, content);
            }
        }
        found
    }

    /// Does everything that can be done with a path, and checks that what is read was inside.
    fn try_all(&self, path: &str, other: &str) {
        for root in [Root::Storage, Root::Project] {
            if let Ok(bytes) = self.storage.read(root, path, 1 << 20) {
                let is_own = root == Root::Project && path.ends_with("app.lua");
                assert!(is_own || bytes != SECRET, "{path:?} was read from {root:?}");
            }
            let _ = self.storage.stat(root, path);
            for name in self.storage.list(root, path).unwrap_or_default() {
                assert!(name != "marker", "{path:?} was listed from {root:?}");
            }
        }
        let _ = self.storage.append(path, b"inside");
        let _ = self.storage.write(path, b"inside");
        let _ = self.storage.mkdir(other);
        let _ = self.storage.rename(path, other);
        let _ = self.storage.remove(other);
    }
}

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % count
    }
}

#[test]
fn ten_thousand_paths_reach_nothing_outside() {
    const NAMES: &[&str] = &[
        "..",
        "..",
        ".",
        "",
        "a",
        "b",
        "in",
        "up",
        "out",
        "absolute",
        "file_out",
        "nowhere",
        "secret",
        "app.lua",
        "outside",
        "project",
        "storage",
        "data",
        "etc",
        "passwd",
        "...",
        "..\\..",
        "%2e%2e",
        "%252e",
        "\u{ff0e}\u{ff0e}",
        "a\0",
        "\0..",
        "c0\u{ae}",
        "~",
        "C:",
        ".sampan",
        "nul",
        "new",
        "x\ny",
    ];
    const BETWEEN: &[&str] = &["/", "/", "/", "/", "//", "\\", "%2f", "/./"];
    let tree = Tree::new();
    let before = tree.outside();
    let mut numbers = Numbers(7);
    let mut path = |root: &Path| {
        let mut path = match numbers.below(20) {
            0 => "/".to_owned(),
            1 => root.display().to_string() + "/",
            _ => String::new(),
        };
        for at in 0..=numbers.below(6) {
            if at > 0 {
                path += BETWEEN[numbers.below(BETWEEN.len())];
            }
            path += NAMES[numbers.below(NAMES.len())];
        }
        path
    };
    for _ in 0..10_000 {
        let (one, other) = (path(tree.root.path()), path(tree.root.path()));
        tree.try_all(&one, &other);
    }
    assert_eq!(before, tree.outside());
    // Some of them did reach what is inside.
    tree.storage.write("a/b", b"inside").expect("a file");
    let read = tree.storage.read(Root::Storage, "a/b", 100);
    assert_eq!(read.expect("a file"), b"inside");
}

#[test]
fn a_link_that_is_swapped_meanwhile_leads_nowhere() {
    let tree = Tree::new();
    let before = tree.outside();
    let (flip, folder) = (
        tree.root.path().join("project/storage/flip"),
        tree.root.path().join("project/storage/a"),
    );
    let outside = tree.root.path().join("outside");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for to in [&folder, &outside] {
                    // A write may have made a folder there.
                    let _ = fs::remove_file(&flip).or_else(|_| fs::remove_dir_all(&flip));
                    let _ = symlink(
                        to.strip_prefix(folder.parent().expect("a folder"))
                            .unwrap_or(to),
                        &flip,
                    );
                }
            }
        });
        let end = Instant::now() + Duration::from_millis(500);
        let mut reached = 0;
        while Instant::now() < end {
            if let Ok(bytes) = tree.storage.read(Root::Storage, "flip/secret", 100) {
                is_over.store(true, Ordering::Relaxed);
                panic!("read {bytes:?}");
            }
            let _ = tree.storage.append("flip/secret2", b"x");
            let _ = tree.storage.write("flip/new", b"inside");
            reached += usize::from(tree.storage.read(Root::Storage, "flip/b", 100).is_ok());
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reached > 0, "the link led inside now and then");
    });
    assert_eq!(before, tree.outside());
}

#[test]
fn what_a_killed_process_left_is_removed_at_start() {
    let tree = Tree::new();
    tree.storage.write("x", b"inside").expect("a file");
    let own = tree.root.path().join("project/storage/.sampan");
    assert_eq!(fs::read_dir(&own).expect("a list").count(), 0);
    fs::write(own.join(".sampan-0011"), "half").expect("a file");
    fs::write(own.join("other"), "another's").expect("a file");
    let temp = tree.root.path().join("temp");
    fs::create_dir(&temp).expect("a folder");
    fs::write(temp.join(".sampan-0022"), "half").expect("a file");
    let storage = Storage::new(FilesConfig {
        temp: Some(temp.clone()),
        ..config(tree.root.path(), Durability::Normal)
    });
    storage.clean();
    let left: Vec<_> = fs::read_dir(&own)
        .expect("a list")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    assert_eq!(left, ["other"]);
    assert_eq!(fs::read_dir(&temp).expect("a list").count(), 0);
}

#[test]
fn all_folders_of_a_durable_change_are_on_the_disk() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("a folder");
    fs::create_dir(root.join("project")).expect("a folder");
    let storage = Storage::new(config(&root, Durability::Full));
    let synced = |change: &dyn Fn() -> Result<(), Error>| {
        SYNCED.take();
        change().expect("changed");
        let mut synced = SYNCED.take();
        synced.sort();
        synced.dedup();
        synced
    };
    let below = |paths: &[&str]| -> Vec<_> {
        let project = root.join("project");
        let full = |path: &&str| match *path {
            ".." => project.clone(),
            path => project.join("storage").join(path),
        };
        paths.iter().map(full).collect()
    };
    let write = |path: &'static str| synced(&|| storage.write(path, b"x"));
    assert_eq!(write("a/b/c"), below(&["..", "", "a", "a/b"]));
    assert_eq!(write("a/b/c"), below(&["a/b"]));
    assert_eq!(write("a/d/c"), below(&["a", "a/d"]));
    let append = |path: &'static str| synced(&|| storage.append(path, b"x"));
    assert_eq!(append("e/c"), below(&["", "e"]));
    assert_eq!(append("e/c"), below(&[]));
    assert_eq!(synced(&|| storage.mkdir("f/g")), below(&["", "f"]));
    let rename = || storage.rename("a/b/c", "h/c");
    assert_eq!(synced(&rename), below(&["", "a/b", "h"]));
    let remove = || storage.remove("h/c").map(drop);
    assert_eq!(synced(&remove), below(&["h"]));
}

#[test]
fn what_is_removed_is_not_made_again() {
    let tree = Tree::new();
    let storage = Storage::new(config(tree.root.path(), Durability::Full));
    // As if another process removes the folder between a change and its way to the disk.
    storage.sync_parent("gone/x").expect("nothing to do");
    assert_eq!(
        storage
            .list(Root::Storage, "")
            .expect("a list")
            .iter()
            .find(|name| *name == "gone/"),
        None
    );
}

#[test]
fn whoever_reads_a_file_that_is_replaced_sees_one_content_whole() {
    const BYTES: usize = 100_000;
    let tree = Tree::new();
    let content = |letter: u8| vec![letter; BYTES];
    tree.storage
        .write("shared", &content(b'a'))
        .expect("a file");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let mut seen = [0; 2];
            while !is_over.load(Ordering::Relaxed) {
                let read = tree.storage.read(Root::Storage, "shared", 1 << 20);
                let read = read.expect("it is always there");
                let first = *read.first().expect("bytes");
                assert!(read == content(first), "{} bytes from {first}", read.len());
                seen[usize::from(first - b'a')] += 1;
            }
            seen
        });
        let end = Instant::now() + Duration::from_millis(400);
        while Instant::now() < end && !reads.is_finished() {
            for letter in *b"ba" {
                tree.storage
                    .write("shared", &content(letter))
                    .expect("a file");
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let seen = reads.join().expect("each was whole");
        assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
    });
}

#[test]
fn errors_have_codes() {
    let tree = Tree::new();
    let storage = &tree.storage;
    let code = |error: Error| error.code().map(str::to_owned).unwrap_or_default();
    let read = |path| code(storage.read(Root::Storage, path, 3).expect_err(path));
    assert_eq!(read("none"), "not_found");
    assert_eq!(read("a"), "not_a_file");
    assert_eq!(read("a/b"), "too_large");
    assert_eq!(read("../x"), "path");
    assert_eq!(read("a/b/c"), "not_a_folder");
    assert_eq!(
        code(storage.remove("a").expect_err("not empty")),
        "not_empty"
    );
    assert!(!storage.remove("none").expect("nothing"));
    assert_eq!(
        code(storage.write("a", b"").expect_err("a folder")),
        "not_a_file"
    );
    assert_eq!(
        code(storage.rename("none", "x").expect_err("nothing")),
        "not_found"
    );
    let out = storage
        .read(Root::Storage, "file_out", 100)
        .expect_err("outside");
    assert_eq!(code(out), "denied");
}
