//! The files of an archive are those that were put in. An archive of which a byte was changed is refused. An index that
//! was made by another program never names bytes outside of its archive.
//!
//! The first byte of an input says which of these it is about. Files are pairs of lines: a path, and its content.

use crate::choices::Choices;
use sampan_host::Sources;
use sampan_host::sources::PackedFiles;
use sampan_project::Archive;
use sampan_project::archive::format::{Index, IndexedFile, Trailer, checksum, hex};
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// Pieces of archives and their indices.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"\0", b"\x01", b"\x02", b"\n", b"app.lua\n", b"public/a.txt\n", b"public/", b"../x", b"/", b"./", b"sampan archive 1", b"\x7fELF\x02\x01",
    b"{\"made_by\":\"\",\"version\":\"\",\"executable\":\"", b"\",\"entry\":\"\",\"files\":[", b"{\"path\":\"a\",\"start\":0,\"len\":0,\"sha256\":\"",
    b"\"}", b"]}", b",", b"18446744073709551615", b"-1", b"links", b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

/// The head of an executable without any table.
const EXECUTABLE: [u8; 64] = {
    let mut head = [0; 64];
    let magic = *b"\x7fELF\x02\x01\x01";
    let mut at = 0;
    while at < magic.len() {
        head[at] = magic[at];
        at += 1;
    }
    head
};

pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    match choices.below(3) {
        0 => whole(&mut choices),
        1 => foreign_index(choices.rest()),
        _ => {
            // Whatever stands behind an executable.
            let bytes = [&EXECUTABLE[..], choices.rest()].concat();
            if let Ok(Some(archive)) = open(&bytes) {
                check_places(&archive, bytes.len());
            }
        }
    }
}

fn open(bytes: &[u8]) -> Result<Option<Archive>, String> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    Archive::open(file)
}

/// An executable, contents and an index, with the checksums that belong to them.
fn archive(contents: &[u8], index: &[u8]) -> Vec<u8> {
    let trailer = Trailer {
        archive_start: EXECUTABLE.len() as u64,
        index_start: (EXECUTABLE.len() + contents.len()) as u64,
        index_checksum: checksum(index),
    };
    [&EXECUTABLE[..], contents, index, &trailer.to_bytes()].concat()
}

fn whole(choices: &mut Choices<'_>) {
    let (place, change) = (
        choices.below(256) << 8 | choices.below(256),
        choices.below(256) as u8,
    );
    let mut files = BTreeMap::new();
    while !choices.is_empty() {
        let path = String::from_utf8_lossy(choices.until(b'\n')).into_owned();
        files.insert(path, choices.until(b'\n'));
    }
    let mut contents = Vec::new();
    let mut indexed = Vec::new();
    for (path, content) in &files {
        indexed.push(IndexedFile {
            path: path.clone(),
            start: contents.len() as u64,
            len: content.len() as u64,
            sha256: hex(&checksum(content)),
        });
        contents.extend_from_slice(content);
    }
    let index = Index {
        made_by: "fuzz".to_owned(),
        version: "0".to_owned(),
        executable: hex(&checksum(&EXECUTABLE)),
        entry: "app.lua".to_owned(),
        files: indexed,
        links: BTreeMap::new(),
    };
    let bytes = archive(&contents, &serde_json::to_vec(&index).expect("JSON"));
    let opened = open(&bytes).expect("sound").expect("an archive");
    for (path, content) in &files {
        let file = opened.file(path).expect("the file is there");
        assert_eq!(opened.content(file).expect("readable"), *content, "{path}");
        let (mut reader, len) = PackedFiles::open(&opened, path).expect("the file is there");
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("readable");
        assert_eq!((&read[..], len), (*content, content.len() as u64), "{path}");
    }
    let below: Vec<_> = opened.below("").map(|(path, _)| path.to_owned()).collect();
    assert_eq!(below, files.keys().cloned().collect::<Vec<_>>());
    let about = opened.about().expect("the executable is sound");
    assert_eq!(about.files.len(), files.len());
    check_places(&opened, bytes.len());
    if change != 0 {
        let mut changed = bytes;
        let behind = EXECUTABLE.len();
        let at = behind + place % (changed.len() - behind);
        changed[at] ^= change;
        let found = open(&changed);
        assert!(
            found.is_err(),
            "byte {at} of {} was changed: {found:?}",
            changed.len()
        );
    }
}

fn foreign_index(index: &[u8]) {
    let contents = b"contents of files";
    let bytes = archive(contents, index);
    if let Ok(Some(opened)) = open(&bytes) {
        check_places(&opened, EXECUTABLE.len() + contents.len());
    }
}

/// All files can be read, and lie behind the executable and before `end`.
fn check_places(archive: &Archive, end: usize) {
    for (path, file) in archive.below("") {
        assert!(file.start >= EXECUTABLE.len() as u64, "{path}");
        assert!(
            file.start
                .checked_add(file.len)
                .is_some_and(|last| last <= end as u64),
            "{path}"
        );
        assert!(archive.content(file).is_ok(), "{path}");
        // A foreign index may have a link in the place of a file, to another or to nothing.
        let found = archive.find(path);
        assert!(
            found.is_none_or(|found| archive.file(&found).is_some()),
            "{path}"
        );
    }
    for folder in ["", "public", ".", "a/"] {
        let listed = Sources::list(archive, folder);
        assert!(
            listed.iter().all(|path| path.starts_with(folder)),
            "{folder}: {listed:?}"
        );
        let _ = PackedFiles::names(archive, folder);
    }
}
