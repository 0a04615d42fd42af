//! The file of routes that were measured slow, beside the database, or in the storage folder where the database is on
//! a server: lines of text, written as a whole and renamed into place.
//!
//! ```text
//! sampan slow routes 2
//! 5bd1e6a2c40f9037 3 GET /report/:year
//! end 1
//! ```
//!
//! A line has the mark of the file that declares the route, the number of times that the route has moved to the slow
//! lane, its method and its pattern.

use super::limits::LEARNED_BYTES_MAX;
use crate::app_config::AppConfig;
use sampan_serve::lane::{Learned, SourceMark};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

const FIRST_LINE: &str = "sampan slow routes 2";
const LAST_WORD: &str = "end";

/// The end of the file's name, behind that of the database.
const SUFFIX: &str = "-routes";

/// The name of the file in the storage folder. Scripts and URLs do not reach hidden files.
const STORED_NAME: &str = ".sampan-routes";

/// Returns the file of a project; `None` where its database is in memory.
pub(crate) fn file_of(config: &AppConfig) -> Option<PathBuf> {
    let database = &config.database.config;
    if database.is_postgres() {
        let folder = config.storage_folder();
        let is_there = !folder.as_os_str().is_empty();
        return is_there.then(|| folder.join(STORED_NAME));
    }
    let path = &database.path;
    let is_memory = path.as_os_str().is_empty() || path.as_os_str() == ":memory:";
    if is_memory || path.ends_with(":memory:") {
        return None;
    }
    let mut name = path.clone().into_os_string();
    name.push(SUFFIX);
    Some(name.into())
}

/// Reads the routes of an earlier process. There are none without the file.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(crate) fn read(path: &Path) -> Result<Vec<Learned>, String> {
    let opened = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened,
    };
    let mut text = String::new();
    let read = opened.and_then(|file| file.take(LEARNED_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) => parse(&text).ok_or_else(|| "it is damaged".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn parse(text: &str) -> Option<Vec<Learned>> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    if lines.next()? != FIRST_LINE {
        return None;
    }
    let mut learned = Vec::new();
    for line in lines.by_ref() {
        let (first, rest) = line.split_once(' ')?;
        if first == LAST_WORD {
            let is_whole = rest.parse() == Ok(learned.len()) && lines.next().is_none();
            return is_whole.then_some(learned);
        }
        let (moves, name) = rest.split_once(' ')?;
        learned.push(Learned {
            name: name.to_owned(),
            mark: SourceMark::parse(first)?,
            moves: moves.parse().ok().filter(|moves| *moves > 0)?,
        });
    }
    None
}

fn text_of(learned: &[Learned]) -> String {
    let mut text = format!("{FIRST_LINE}\n");
    // A pattern with a line end is no route that a request could have.
    let lines = learned.iter().filter(|route| !route.name.contains('\n'));
    let mut count = 0;
    for Learned { name, mark, moves } in lines {
        count += 1;
        let _ = writeln!(text, "{mark} {moves} {name}");
    }
    let _ = writeln!(text, "{LAST_WORD} {count}");
    text
}

/// Writes the file, or removes it where nothing was learned. A reader never sees a part of it.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write(path: &Path, learned: &[Learned]) -> io::Result<()> {
    if learned.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    if let Some(folder) = path.parent() {
        // The storage folder is made at first use.
        fs::create_dir_all(folder)?;
    }
    let mut new = path.to_path_buf().into_os_string();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(text_of(learned).as_bytes())?;
        fs::rename(&new, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(name: &str, moves: u32) -> Learned {
        Learned {
            name: name.to_owned(),
            mark: SourceMark::parse("00ab00000000cdef").expect("a mark"),
            moves,
        }
    }

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("data.db-routes");
        assert_eq!(read(&path), Ok(Vec::new()));
        let learned = vec![learned("ALL /files/*rest", 1), learned("GET /a b/:ä", 12)];
        write(&path, &learned).expect("written");
        assert_eq!(read(&path), Ok(learned));
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
        write(&path, &[]).expect("removed");
        assert!(!path.exists());
        write(&path, &[]).expect("nothing to remove");
    }

    #[test]
    fn a_damaged_file_is_no_file() {
        let whole = text_of(&[learned("GET /a", 1), learned("GET /b", 2)]);
        assert_eq!(parse(&whole).map(|learned| learned.len()), Some(2));
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "cut at {end}");
        }
        for damaged in [
            "",
            "sampan slow routes 1\nend 0\n",
            "sampan slow routes 2\n1 GET /a\nend 1\n",
            "sampan slow routes 2\n00ab00000000cdef 0 GET /a\nend 1\n",
            "sampan slow routes 2\n00ab00000000cdef -1 GET /a\nend 1\n",
            "sampan slow routes 2\n0ab00000000cdef 1 GET /a\nend 1\n",
            "sampan slow routes 2\n00ab00000000cdef 1 GET /a\nend 1\nmore\n",
        ] {
            assert_eq!(parse(damaged), None, "{damaged:?}");
        }
    }
}
