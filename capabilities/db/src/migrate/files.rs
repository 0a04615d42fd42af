//! The files of a migrations folder: their numbers, names, texts and checksums.
//!
//! `NNNN_name.sql`, four digits or more, counted up from 0001 without a gap. A hole means that a file was forgotten:
//! once a later one has been applied it could not be applied any more, so it is noticed before. Other files are left
//! alone, unless they end in `.sql`, because such files are expected to be applied.
//!
//! `NNNN_name.sqlite.sql` and `NNNN_name.postgres.sql` are the same migration in the words of one database; such a file
//! goes before one without that word.

use sampan_host::{Error, ErrorKind};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The largest migration.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The highest number, and so the most migrations.
const NUMBER_MAX: i64 = 999_999;
/// The longest name of a migration, without its number.
const NAME_BYTES_MAX: usize = 100;

/// The words in which a migration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SqlDialect {
    Sqlite,
    Postgres,
}

impl SqlDialect {
    const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The word in the names of files.
    fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A migration as it stands in the folder.
#[derive(Debug)]
pub(super) struct File {
    /// The number.
    pub(super) id: i64,
    /// The file's name without the ending, as in `0001_visits`.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Line ends are `\n`, and there is no byte order mark.
    pub(super) text: String,
    /// SHA-256 of the text in hexadecimal digits.
    pub(super) checksum: String,
}

/// The migrations of a project: the files of a folder, or files in memory.
#[derive(Clone, Debug)]
pub struct Migrations {
    folder: PathBuf,
    packed: Option<Vec<(String, Vec<u8>)>>,
}

impl Migrations {
    /// Those in a folder, which need not exist.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            packed: None,
        }
    }

    /// Those with these names and contents. `folder` is where errors say that they are.
    pub fn packed(folder: impl Into<PathBuf>, files: Vec<(String, Vec<u8>)>) -> Self {
        Self {
            folder: folder.into(),
            packed: Some(files),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reports whether there is such a folder.
    pub fn exist(&self) -> bool {
        match &self.packed {
            None => self.folder.is_dir(),
            Some(files) => !files.is_empty(),
        }
    }

    /// Reports whether the folder has no file at all.
    pub fn is_empty(&self) -> bool {
        match &self.packed {
            None => !std::fs::read_dir(&self.folder).is_ok_and(|mut files| files.next().is_some()),
            Some(files) => files.is_empty(),
        }
    }
}

/// All migrations, in order.
///
/// # Errors
/// The folder cannot be read, a file in it cannot be one of its migrations, or one is not written in this dialect.
pub(super) fn read(migrations: &Migrations, dialect: SqlDialect) -> Result<Vec<File>, Error> {
    let Migrations { folder, packed } = migrations;
    let Some(packed) = packed else {
        let files = in_order(chosen(list(folder)?, dialect)?)?.into_iter();
        return files
            .map(|(id, name, path)| Ok(File::new(id, name, text(&path)?, path)))
            .collect();
    };
    let mut files = Vec::new();
    for (name, _) in packed {
        files.extend(numbered(folder.join(name))?);
    }
    let files = in_order(chosen(files, dialect)?)?;
    let files = files.into_iter().map(|(id, name, path)| {
        let file_name = path.file_name().unwrap_or_default();
        let bytes = packed.iter().find(|(name, _)| **name == *file_name);
        let bytes = bytes.map_or(Vec::new(), |(_, bytes)| bytes.clone());
        Ok(File::new(id, name, text_of(&path, bytes)?, path))
    });
    files.collect()
}

impl File {
    fn new(id: i64, name: String, text: String, path: PathBuf) -> Self {
        Self {
            id,
            name,
            checksum: checksum(&text),
            text,
            path,
        }
    }
}

/// Makes an empty migration with the next number.
///
/// # Errors
/// A name that cannot be one, a folder that is not in order or cannot be written.
pub(super) fn create(dir: &Path, name: &str) -> Result<PathBuf, Error> {
    let name = name.trim().replace(' ', "_");
    if !is_name(&name) {
        return Err(fault(format!(
            "{name:?} cannot be the name of a migration: use letters, digits, '_' and '-', at most {NAME_BYTES_MAX}"
        )));
    }
    std::fs::create_dir_all(dir)
        .map_err(|error| fault(format!("cannot create {}: {error}", dir.display())))?;
    let last = list(dir)?.into_iter().map(|found| found.id).max();
    let last = last.unwrap_or_default();
    let path = dir.join(format!("{:04}_{name}.sql", last + 1));
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(|error| fault(format!("cannot create {}: {error}", path.display())))?;
    Ok(path)
}

/// The number, the name and the path of a migration.
type NumberedFile = (i64, String, PathBuf);

/// A file in the folder.
#[derive(Debug)]
struct FoundFile {
    id: i64,
    name: String,
    /// The dialect; `None` if it is for both.
    dialect: Option<SqlDialect>,
    path: PathBuf,
}

/// The files, in any order.
fn list(dir: &Path) -> Result<Vec<FoundFile>, Error> {
    let unreadable = |error| fault(format!("cannot read {}: {error}", dir.display()));
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(dir) {
        // No folder is a folder without files: what the database knows is missing then.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(unreadable)?,
    };
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            continue;
        }
        let file = numbered(path)?;
        if let Some(FoundFile { path, .. }) = &file
            && !path.is_file()
        {
            return Err(fault(format!("{} is no file", path.display())));
        }
        found.extend(file);
    }
    Ok(found)
}

/// Returns the file of each migration that is written in a dialect.
fn chosen(found: Vec<FoundFile>, dialect: SqlDialect) -> Result<Vec<NumberedFile>, Error> {
    let mut chosen: Vec<NumberedFile> = Vec::with_capacity(found.len());
    for file in &found {
        let FoundFile { id, name, path, .. } = file;
        let is_same = |other: &&FoundFile| other.id == *id && other.name == *name;
        let is_written = |it| {
            found
                .iter()
                .filter(is_same)
                .any(|other| other.dialect == it)
        };
        match file.dialect {
            Some(own) if own == dialect => {}
            None if !is_written(Some(dialect)) => {}
            Some(_) if !is_written(Some(dialect)) && !is_written(None) => {
                return Err(fault(format!(
                    "{}: there is no {name}.{}.sql beside it, with the same in the words of the other database",
                    path.display(),
                    dialect.word()
                )));
            }
            _ => continue,
        }
        chosen.push((*id, name.clone(), path.clone()));
    }
    Ok(chosen)
}

/// A migration by the name of its file. `None` if it is another kind of file.
fn numbered(path: PathBuf) -> Result<Option<FoundFile>, Error> {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_sql = Path::new(&*file_name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("sql"));
    if !is_sql || file_name.starts_with('.') {
        return Ok(None);
    }
    match parse(&file_name) {
        Some((id, name, dialect)) => Ok(Some(FoundFile {
            id,
            name,
            dialect,
            path,
        })),
        None => Err(fault(format!(
            "{} is no name for a migration: four digits or more up to {NUMBER_MAX}, '_', letters, digits, '_' or '-', \
             and .sql, .sqlite.sql or .postgres.sql, as in 0001_users.sql",
            path.display()
        ))),
    }
}

fn in_order(mut files: Vec<NumberedFile>) -> Result<Vec<NumberedFile>, Error> {
    files.sort();
    check_numbers(&files)?;
    Ok(files)
}

fn check_numbers(found: &[NumberedFile]) -> Result<(), Error> {
    for (place, (id, name, path)) in (1_i64..).zip(found) {
        if *id < place {
            let other = found
                .iter()
                .find(|(other_id, other, _)| other_id == id && other != name)
                .map_or("another", |(_, other, _)| other);
            return Err(fault(format!(
                "{}: {other}.sql has the same number: renumber the newer one",
                path.display()
            )));
        }
        if *id > place {
            return Err(fault(format!(
                "{}: there is no migration {place:04} before it: migrations are numbered from 0001 without a gap; \
                 bring the missing \
                 file, or renumber",
                path.display()
            )));
        }
    }
    Ok(())
}

/// `0001_name.sql` → `(1, "0001_name", None)`.
fn parse(file_name: &str) -> Option<(i64, String, Option<SqlDialect>)> {
    let stem = file_name.strip_suffix(".sql")?;
    let dialect = SqlDialect::ALL.into_iter().find_map(|dialect| {
        let stem = stem.strip_suffix(dialect.word())?.strip_suffix('.')?;
        Some((stem, dialect))
    });
    let (stem, dialect) = match dialect {
        Some((stem, dialect)) => (stem, Some(dialect)),
        None => (stem, None),
    };
    let (digits, name) = stem.split_once('_')?;
    if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) || !is_name(name) {
        return None;
    }
    let id = digits.parse().ok()?;
    (1..=NUMBER_MAX)
        .contains(&id)
        .then(|| (id, stem.to_owned(), dialect))
}

fn is_name(name: &str) -> bool {
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(may_stand)
}

/// The text of a file, with the same line ends for all editors and version control systems.
fn text(path: &Path) -> Result<String, Error> {
    let shown = path.display();
    let unreadable = |error| fault(format!("cannot read {shown}: {error}"));
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > FILE_BYTES_MAX {
        return Err(fault(format!(
            "{shown} has {length} bytes; a migration has at most {FILE_BYTES_MAX}"
        )));
    }
    text_of(path, std::fs::read(path).map_err(unreadable)?)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, Error> {
    let shown = path.display();
    let text = String::from_utf8(bytes)
        .map_err(|_| fault(format!("{shown} is not UTF-8: save it as UTF-8")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if let Some(at) = text.find('\0') {
        let line = 1 + text[..at].matches('\n').count();
        return Err(fault(format!(
            "{shown}:{line}: a NUL byte: is this a text?"
        )));
    }
    Ok(text.replace("\r\n", "\n"))
}

fn checksum(text: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a String does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Returns the error that keeps a server from starting.
pub(super) fn fault(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Load, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn read_with(files: &[(&str, &[u8])]) -> Result<Vec<File>, Error> {
        let folder = TestFolder::new();
        for (name, bytes) in files {
            std::fs::write(folder.path(name), bytes).expect("written");
        }
        read(&Migrations::in_folder(folder.path("")), SqlDialect::Sqlite)
    }

    fn fails(files: &[(&str, &[u8])], part: &str) {
        let error = read_with(files).expect_err(part).to_string();
        assert!(error.contains(part), "{error:?} does not contain {part:?}");
        assert_eq!(error.lines().count(), 1, "{error:?}");
    }

    #[test]
    fn files_come_in_the_order_of_their_numbers() {
        let files: Vec<(String, Vec<u8>)> = (1..=11)
            .rev()
            .map(|id| (format!("{id:04}_a.sql"), b"SELECT 1;".to_vec()))
            .collect();
        let mut files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_slice()))
            .collect();
        files.extend([
            ("README.md", &b"x"[..]),
            (".0012_b.sql", b"x"),
            ("00012_c-D_1.sql", b"x"),
        ]);
        let found = read_with(&files).expect("in order");
        let ids: Vec<i64> = found.iter().map(|file| file.id).collect();
        assert_eq!(ids, (1..=12).collect::<Vec<_>>());
        assert_eq!(found[11].name, "00012_c-D_1");
        assert!(read_with(&[]).expect("an empty folder").is_empty());
    }

    #[test]
    fn what_is_out_of_order_is_named() {
        fails(
            &[("0001_a.sql", b""), ("0003_c.sql", b"")],
            "0003_c.sql: there is no migration 0002",
        );
        fails(&[("0002_b.sql", b"")], "no migration 0001");
        fails(
            &[("0001_a.sql", b""), ("00001_b.sql", b"")],
            "0001_a.sql: 00001_b.sql has the same number",
        );
        for name in [
            "1_a.sql",
            "0001-a.sql",
            "0001_.sql",
            "0001_a b.sql",
            "0000_a.sql",
            "a.sql",
            "0001_a.SQL",
            "1000000_a.sql",
        ] {
            fails(
                &[(name, b"")],
                &format!("{name} is no name for a migration"),
            );
        }
        fails(
            &[("0001_a.sql", b"SELECT '\xff'")],
            "0001_a.sql is not UTF-8",
        );
        fails(
            &[("0001_a.sql", b"SELECT 1;\n\n\0")],
            "0001_a.sql:3: a NUL byte",
        );
        let folder = TestFolder::new();
        let none = Migrations::in_folder(folder.path("none"));
        assert!(
            read(&none, SqlDialect::Sqlite)
                .expect("no files")
                .is_empty()
        );
    }

    #[test]
    fn packed_files_are_read_as_those_of_a_folder() {
        let packed = |files: &[(&str, &str)]| {
            let files = files.iter();
            let files = files.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
            let packed = Migrations::packed("migrations", files.collect());
            read(&packed, SqlDialect::Sqlite)
        };
        let found = packed(&[
            ("0002_b.sql", "SELECT 2;\r\n"),
            ("README.md", ""),
            ("0001_a.sql", "SELECT 1;"),
        ]);
        let found = found.expect("in order");
        let names: Vec<&str> = found.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["0001_a", "0002_b"]);
        assert_eq!(found[1].text, "SELECT 2;\n");
        let error = packed(&[("0002_b.sql", "")]).expect_err("a hole");
        assert!(error.to_string().contains("no migration 0001"), "{error}");
        let error = packed(&[("a.sql", "")]).expect_err("no name").to_string();
        assert!(error.starts_with("migrations/a.sql is no name"), "{error}");
    }

    #[test]
    fn each_database_has_the_files_in_its_own_words() {
        let folder = TestFolder::new();
        let write = |name: &str| std::fs::write(folder.path(name), name).expect("written");
        for name in [
            "0001_a.sql",
            "0002_b.sqlite.sql",
            "0002_b.postgres.sql",
            "0003_c.sql",
            "0003_c.postgres.sql",
        ] {
            write(name);
        }
        let texts = |dialect| {
            let found = read(&Migrations::in_folder(folder.path("")), dialect);
            let found = found.expect("in order").into_iter();
            found.map(|file| (file.name, file.text)).collect::<Vec<_>>()
        };
        let pairs = |texts: [&str; 3]| {
            let names = ["0001_a", "0002_b", "0003_c"].into_iter().zip(texts);
            names
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(SqlDialect::Sqlite),
            pairs(["0001_a.sql", "0002_b.sqlite.sql", "0003_c.sql"])
        );
        assert_eq!(
            texts(SqlDialect::Postgres),
            pairs(["0001_a.sql", "0002_b.postgres.sql", "0003_c.postgres.sql"])
        );
        let path = create(&folder.path(""), "next").expect("created");
        assert_eq!(path, folder.path("0004_next.sql"));
        write("0005_d.postgres.sql");
        let all = Migrations::in_folder(folder.path(""));
        let error = read(&all, SqlDialect::Sqlite).expect_err("one is missing");
        let part = "0005_d.postgres.sql: there is no 0005_d.sqlite.sql beside it";
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(read(&all, SqlDialect::Postgres).expect("all").len(), 5);
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_change_no_checksum() {
        let sum = |bytes: &[u8]| {
            read_with(&[("0001_a.sql", bytes)]).expect("read")[0]
                .checksum
                .clone()
        };
        let unix = sum(b"SELECT 1;\nSELECT 2;\n");
        assert_eq!(unix, sum(b"\xef\xbb\xbfSELECT 1;\r\nSELECT 2;\r\n"));
        assert_ne!(unix, sum(b"SELECT 1;\nSELECT 3;\n"));
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sum(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_new_one_gets_the_next_number() {
        let folder = TestFolder::new();
        let dir = folder.path("migrations");
        for (name, expected) in [
            ("users", "0001_users.sql"),
            ("add email", "0002_add_email.sql"),
        ] {
            let path = create(&dir, name).expect("created");
            assert_eq!(path, dir.join(expected));
            assert!(path.is_file());
        }
        for name in ["", " ", "a/b", "../x", "ä", &"x".repeat(NAME_BYTES_MAX + 1)] {
            let error = create(&dir, name).expect_err(name).to_string();
            assert!(
                error.contains("cannot be the name of a migration"),
                "{error}"
            );
        }
        let all = Migrations::in_folder(dir);
        assert_eq!(read(&all, SqlDialect::Sqlite).expect("in order").len(), 2);
    }
}
