//! The settings of a database, each quantity with its unit in its name.

use crate::sqlite::file::KnownFile;
use sampan_host::Error;
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use sampan_postgres::{CellForms, PostgresConfig};
use std::path::{Path, PathBuf};

const DAY_MILLIS: u64 = 24 * 3_600 * 1_000;

/// `[db]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "db",
    doc: "The database.",
    keys: &[
        SettingKey::text("path", Preset::Text("data.db"), "the file, relative to the project's folder"),
        SettingKey::text("url", Preset::Unset,
            "the database on a PostgreSQL server, in place of the file: postgres://user:password@host/name").secret(),
        SettingKey::count("connections_max", 2..=10_000, 10,
            "connections of the process to a PostgreSQL server; statements above it wait for one"),
        SettingKey::flag("prepared_statements", Preset::Flag(true),
            "PostgreSQL keeps statements under names; false behind pgbouncer in transaction mode"),
        SettingKey::choice("timestamps", &["text", "date"],
            "cells of PostgreSQL's date, timestamp and timestamptz: text, or what scripts calculate with"),
        SettingKey::choice("numerics", &["text", "number"],
            "cells of PostgreSQL's numeric: text with all digits, or numbers"),
        SettingKey::choice("durability", &["full", "normal"],
            "what an acknowledged write survives: power loss, or the death of the process"),
        SettingKey::flag("migrate", Preset::Flag(true), "a server that starts applies the migrations of the project"),
        SettingKey::count("statements_max", 1..=10_000, 64, "prepared statements that each connection keeps"),
        SettingKey::count("cache_kib", 64..=16 * 1024 * 1024, 16 * 1024, "page cache of each connection"),
        SettingKey::size("mmap_bytes", 0..=1 << 40, 0,
            "bytes of the file that are mapped into memory; an I/O error under a mapping ends the process"),
        SettingKey::time("query_inline_millis_max", 1..=DAY_MILLIS, 100, "the longest that a read may keep its worker"),
        SettingKey::time("write_millis_max", 1..=DAY_MILLIS, 1_000, "the longest that a write may run"),
        SettingKey::time("statement_millis_max", 1..=DAY_MILLIS, 5_000,
            "the longest that a read may run on a reader thread"),
        SettingKey::size("result_bytes_max", 1024..=(4 << 30) - 1, 64 * 1024 * 1024,
            "memory of the rows of one result"),
        SettingKey::size("statement_bytes_max", 1024 * 1024..=(4 << 30) - 1, 64 * 1024 * 1024,
            "memory that a statement takes beside its page cache and its result"),
        SettingKey::time("busy_millis_max", 0..=DAY_MILLIS, 5_000,
            "how long a write, or a migration, waits for another process that holds the lock"),
        SettingKey::time("transaction_millis_max", 1..=DAY_MILLIS, 2_000,
            "the longest that a transaction of a function that waits may last"),
        SettingKey::count("reader_threads", 1..=64, 2, "threads for long reads"),
        SettingKey::count("checkpoint_pages", 1..=1_000_000, 1_000,
            "pages of the write-ahead log from which it is copied into the database"),
        SettingKey::size("wal_bytes_max", 1024 * 1024..=1 << 40, 1024 * 1024 * 1024,
            "size of the write-ahead log from which writes wait until it has been copied"),
    ],
};

/// The point at which a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On disk: a commit survives power loss.
    #[default]
    Full,
    /// The operating system has it: it survives the death of the process, and may be lost with the power.
    Normal,
    /// The process has it. The file goes with the process, so nothing waits for the disk, and the log is not copied at
    /// the end.
    Throwaway,
}

/// The settings of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// The file.
    pub path: PathBuf,
    /// The URL of a database on a PostgreSQL server, in place of the file.
    pub url: Option<String>,
    /// The name of the database there, in place of the one in the URL.
    pub database: Option<String>,
    /// The most connections of the process to the server.
    pub connections_max: usize,
    /// True where the server keeps statements under names, which a pooler in transaction mode does not pass on.
    pub has_named_statements: bool,
    /// The cells from the server that are not text for scripts.
    pub cell_forms: CellForms,
    /// The point at which a write counts as done.
    pub durability: Durability,
    /// Prepared statements that each connection keeps.
    pub statements_max: usize,
    /// The page cache of each connection.
    pub cache_kib: u32,
    /// The number of bytes of the file that are mapped into memory; 0 maps nothing. An I/O error under a mapping is a
    /// SIGBUS.
    pub mmap_bytes: u64,
    /// The longest that a read may run on its worker; longer ones run on a reader thread.
    pub query_inline_millis_max: u64,
    /// The longest that a write may run.
    pub write_millis_max: u64,
    /// The longest that a read may run on a reader thread.
    pub statement_millis_max: u64,
    /// The most that the rows of one result may take in memory.
    pub result_bytes_max: usize,
    /// The most memory that a statement takes beside its page cache and its result.
    pub statement_bytes_max: u64,
    /// The longest time that a write waits while another process holds the lock.
    pub busy_millis_max: u64,
    /// The longest that a transaction of a function that waits may last.
    pub transaction_millis_max: u64,
    /// Reader threads for long reads.
    pub reader_threads: usize,
    /// Pages in the write-ahead log from which it is copied into the database.
    pub checkpoint_pages: u32,
    /// Size of the write-ahead log from which writers wait until it has been copied.
    pub wal_bytes_max: u64,
    /// True for a command beside a server: the write-ahead log is left as it is, because the server may still read it.
    pub leaves_log: bool,
    /// The file that the path turned out to be; shared by clones.
    pub file: KnownFile,
}

impl DatabaseConfig {
    /// Reports whether the database was opened and another file, or none, stands at its path now.
    pub fn has_lost_file(&self) -> bool {
        !self.file.is_at(&self.path)
    }

    /// Reports whether the connections that are open may use the file, see [`KnownFile::is_ours`].
    #[inline]
    pub(crate) fn is_file_ours(&self) -> bool {
        self.file.is_ours(&self.path)
    }

    /// Reports whether the database lies on a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        self.url.is_some()
    }

    /// Checks the URL of the server, if there is one.
    ///
    /// # Errors
    /// It is none of PostgreSQL, or has a parameter that is wrong.
    pub fn check_url(&self) -> Result<(), Error> {
        match self.is_postgres() {
            true => self.postgres().map(drop),
            false => Ok(()),
        }
    }

    /// Reads the URL of the server.
    ///
    /// # Errors
    /// It is none of PostgreSQL.
    pub(crate) fn postgres(&self) -> Result<PostgresConfig, Error> {
        let url = self.url.as_deref().unwrap_or_default();
        let mut config = PostgresConfig::from_url(url)
            .map_err(|fault| Error::script(format!("[db] url: {fault}")))?;
        if let Some(database) = &self.database {
            config.database.clone_from(database);
        }
        config.statement_millis_max = self.statement_millis_max;
        config.statements_max = self.statements_max;
        config.acquire_millis_max = self.busy_millis_max;
        config.connections_max = self.connections_max;
        config.prepare = self.has_named_statements;
        Ok(config)
    }

    /// Refuses what is done with a file where the database lies on a server.
    ///
    /// # Errors
    /// It does. `instead` says what to use there.
    pub(crate) fn check_file(&self, instead: &str) -> Result<(), Error> {
        match self.is_postgres() {
            true => Err(Error::script(format!(
                "{} is on a PostgreSQL server, and this needs a file of SQLite: {instead}",
                self.shown()
            ))),
            false => Ok(()),
        }
    }

    /// Reports whether there is a database to open: a file that exists, or a server that may have one.
    pub fn may_exist(&self) -> bool {
        self.is_postgres() || self.path.exists()
    }

    /// The database for people: the file, or the URL without the password.
    pub fn shown(&self) -> String {
        match &self.url {
            Some(url) => without_password(url),
            None => self.path.display().to_string(),
        }
    }

    /// The defaults for a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ..Self::from_settings(&Settings::of(&SECTION), Path::new(""))
        }
    }

    /// Reads `[db]`. A path is relative to the project's folder `root`.
    pub fn from_settings(settings: &Settings, root: &Path) -> Self {
        Self {
            path: root.join(settings.text("path")),
            url: settings
                .text_if_set("url")
                .filter(|url| !url.is_empty())
                .map(str::to_owned),
            database: None,
            connections_max: settings.number("connections_max"),
            has_named_statements: settings.flag("prepared_statements"),
            cell_forms: CellForms {
                has_dates: settings.text("timestamps") == "date",
                has_numbers: settings.text("numerics") == "number",
            },
            durability: match settings.text("durability") {
                "normal" => Durability::Normal,
                _ => Durability::Full,
            },
            statements_max: settings.number("statements_max"),
            cache_kib: settings.number("cache_kib"),
            mmap_bytes: settings.number("mmap_bytes"),
            query_inline_millis_max: settings.number("query_inline_millis_max"),
            write_millis_max: settings.number("write_millis_max"),
            statement_millis_max: settings.number("statement_millis_max"),
            result_bytes_max: settings.number("result_bytes_max"),
            statement_bytes_max: settings.number("statement_bytes_max"),
            busy_millis_max: settings.number("busy_millis_max"),
            transaction_millis_max: settings.number("transaction_millis_max"),
            reader_threads: settings.number("reader_threads"),
            checkpoint_pages: settings.number("checkpoint_pages"),
            wal_bytes_max: settings.number("wal_bytes_max"),
            leaves_log: false,
            file: KnownFile::default(),
        }
    }
}

/// Replaces the password of a URL.
fn without_password(url: &str) -> String {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..]
        .find(['/', '?'])
        .map_or(url.len(), |at| begin + at);
    let Some((user, host)) = url[begin..end].rsplit_once('@') else {
        return url.to_owned();
    };
    let user = user.split(':').next().unwrap_or_default();
    // What stands behind `?` may have one too.
    let rest = url[end..].split('?').next().unwrap_or_default();
    format!("{}{user}@{host}{rest}", &url[..begin])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            (
                "postgres://ann:secret@db.example/app",
                "postgres://ann@db.example/app",
            ),
            (
                "postgres://ann:a@b:c@[::1]:5432/app?x=y",
                "postgres://ann@[::1]:5432/app",
            ),
            ("postgres://localhost/app", "postgres://localhost/app"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn cells_from_a_server_are_text_unless_said_otherwise() {
        let forms = |written: &[(&'static str, &str)]| {
            let values = written.iter();
            let values = values.map(|(key, word)| (*key, SettingValue::Text((*word).to_owned())));
            let settings = Settings::with(&SECTION, values).expect("valid");
            DatabaseConfig::from_settings(&settings, Path::new("")).cell_forms
        };
        assert_eq!(forms(&[]), CellForms::default());
        assert!(forms(&[("timestamps", "date")]).has_dates);
        let all = forms(&[("timestamps", "text"), ("numerics", "number")]);
        assert!(all.has_numbers && !all.has_dates);
    }

    #[test]
    fn paths_are_relative_to_the_project() {
        let path = |written: Option<&str>| {
            let value = written.map(|path| ("path", SettingValue::Text(path.to_owned())));
            let settings = Settings::with(&SECTION, value).expect("valid");
            DatabaseConfig::from_settings(&settings, Path::new("project")).path
        };
        assert_eq!(path(None), Path::new("project/data.db"));
        assert_eq!(path(Some("x/y.db")), Path::new("project/x/y.db"));
        assert_eq!(path(Some("/abs.db")), Path::new("/abs.db"));
    }
}
