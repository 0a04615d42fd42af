//! `[db]`: the database as `sampan.toml` and the command line describe it.

use super::raw::{Flags, whole};
use super::sources::{Environment, Sources};
use super::units::{Bytes, Millis};
use crate::project::packed_migrations;
use sampan_db::migrate::Migrations;
use sampan_db::{DatabaseConfig, Durability};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The default file of a project's database, relative told otherwise, relative to the project's folder.
pub(super) const FILE: &str = "data.db";

/// The folder in a project's folder that has its migrations.
pub(crate) const MIGRATIONS: &str = "migrations";

/// A project as far as its database goes: what is needed to migrate it or to back it up, whatever there is to run.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The database.
    pub db: DatabaseConfig,
    /// The migrations, of which there need be none.
    pub migrations: Migrations,
}

impl Storage {
    /// Finds the database of the project that `flags.path` names: its folder, or a file in it.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        let path = &flags.path;
        let current = Path::new("");
        let root = if flags.archive.is_some() {
            current
        } else if path.is_dir() {
            path.as_path()
        } else if path.is_file() {
            path.parent().unwrap_or(Path::new(""))
        } else {
            return Err(format!(
                "{} does not exist: name the project's folder or the file to run",
                path.display()
            ));
        };
        let environment = Environment::of_process().with(&flags.env_file.read(root)?);
        let sources = Sources::of(root, flags, &environment)?;
        let db = sources.resolved()?.db.resolve(root);
        Ok(Self {
            db: db.map_err(|fault| sources.origins.tell("db", &fault))?,
            migrations: match &flags.archive {
                Some(archive) => packed_migrations(archive),
                None => migrations_of(root)?,
            },
        })
    }
}

/// The migrations in the folder of a project, of which there need be none.
///
/// # Errors
/// There is a file in the place of their folder.
pub(crate) fn migrations_of(root: &Path) -> Result<Migrations, String> {
    let folder = root.join(MIGRATIONS);
    if folder.exists() && !folder.is_dir() {
        return Err(format!(
            "{} is a file: make it a folder with a file such as 0001_users.sql for each migration",
            folder.display()
        ));
    }
    Ok(Migrations::in_folder(folder))
}

/// Declares `[db]` from the names of the settings themselves, so that none can be stored and never used.
macro_rules! raw_db {
    ($($name:ident: $type:ty, $min:expr, $max:expr;)*) => {
        /// `[db]`.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct RawDb {
            path: Option<PathBuf>,
            durability: Option<RawDurability>,
            migrate: Option<bool>,
            $($name: Option<$type>,)*
        }

        impl RawDb {
            /// Replaces what the file sets. Taking the settings apart by name makes one that is missing here an error.
            fn apply(&self, config: &mut DatabaseConfig) -> Result<(), String> {
                let DatabaseConfig { path: _, file: _, durability, $($name,)* } = config;
                if let Some(value) = &self.durability {
                    *durability = value.resolved();
                }
                $(if let Some(value) = self.$name {
                    let value = of_type_of(&*$name, value);
                    if !($min..=$max).contains(&value) {
                        return Err(format!(
                            "{} is {value}; it must be {} to {}", stringify!($name), $min, $max
                        ));
                    }
                    *$name = value;
                })*
                Ok(())
            }

            /// Returns the default of `db.NAME`, of the settings that are numbers.
            pub(super) fn default_of(key: &str) -> Option<toml::Value> {
                let config = DatabaseConfig::new("");
                let name = key.strip_prefix("db.")?;
                $(if name == stringify!($name) { return whole(config.$name); })*
                None
            }
        }
    };
}

/// `value` as what it will replace.
fn of_type_of<T>(_: &T, value: impl Into<T>) -> T {
    value.into()
}

const DAY_MILLIS: u64 = 24 * 3_600 * 1_000;

raw_db! {
    statements_max: usize, 1, 10_000;
    cache_kib: u32, 64, 16 * 1024 * 1024;
    mmap_bytes: Bytes, 0, 1_u64 << 40;
    query_inline_millis_max: Millis, 1, DAY_MILLIS;
    write_millis_max: Millis, 1, DAY_MILLIS;
    statement_millis_max: Millis, 1, DAY_MILLIS;
    result_bytes_max: Bytes, 1024, (4_usize << 30) - 1;
    busy_millis_max: Millis, 0, DAY_MILLIS;
    transaction_millis_max: Millis, 1, DAY_MILLIS;
    reader_threads: usize, 1, 64;
    checkpoint_pages: u32, 1, 1_000_000;
    wal_bytes_max: Bytes, 1024 * 1024, 1_u64 << 40;
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawDurability {
    Full,
    Normal,
}

impl RawDurability {
    pub(super) fn resolved(self) -> Durability {
        match self {
            Self::Full => Durability::Full,
            Self::Normal => Durability::Normal,
        }
    }
}

impl RawDb {
    /// The settings of a project's database. A path is relative to the project's folder `root`.
    pub(crate) fn resolve(&self, root: &Path) -> Result<DatabaseConfig, String> {
        let path = root.join(self.path.as_deref().unwrap_or(Path::new(FILE)));
        let mut config = DatabaseConfig::new(path);
        self.apply(&mut config)?;
        Ok(config)
    }

    /// Reports whether migrations run at start.
    pub(crate) fn migrates(&self) -> bool {
        self.migrate.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> RawDb {
        toml::from_str(text).expect("a table")
    }

    #[test]
    fn paths_are_relative_to_who_wrote_them() {
        let root = Path::new("project");
        let path = |text: &str| parse(text).resolve(root).expect("valid").path;
        assert_eq!(path(""), Path::new("project/data.db"));
        assert_eq!(path("path = 'x/y.db'"), Path::new("project/x/y.db"));
        assert_eq!(path("path = '/abs.db'"), Path::new("/abs.db"));
        let flags = Flags {
            db: Some(PathBuf::from("z.db")),
            ..Flags::default()
        };
        let sources = Sources::of_text("", "x", &flags, &Environment::default());
        let raw = sources
            .and_then(|sources| sources.resolved())
            .expect("valid");
        let here = std::env::current_dir().expect("there is one").join("z.db");
        assert_eq!(raw.db.resolve(root).expect("valid").path, here);
    }

    #[test]
    fn settings_are_applied_and_checked() {
        let raw = parse(
            "durability = 'normal'\nstatements_max = 3\nmigrate = false\nwal_bytes_max = '2MiB'",
        );
        let config = raw.resolve(Path::new("")).expect("valid");
        assert_eq!(
            (
                config.durability,
                config.statements_max,
                config.wal_bytes_max,
                raw.migrates()
            ),
            (Durability::Normal, 3, 2 << 20, false)
        );
        let error = parse("reader_threads = 0")
            .resolve(Path::new(""))
            .expect_err("too few");
        assert_eq!(error, "reader_threads is 0; it must be 1 to 64");
        toml::from_str::<RawDb>("durability = 'some'").expect_err("no such durability");
    }
}
