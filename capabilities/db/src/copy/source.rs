//! The tables of a file of SQLite, read in one snapshot.

use super::definition::Definition;
use super::names::target_name;
use crate::config::DatabaseConfig;
use crate::migrate::{Applied, applied_in};
use crate::sql_policy::functions;
use crate::sqlite::open::explain;
use rusqlite::{Connection, OpenFlags};
use sampan_host::{Error, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

/// A connection with an open transaction that reads.
pub(super) struct Snapshot {
    pub(super) sqlite: Connection,
    path: PathBuf,
    version: i64,
}

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) name: String,
    /// The name on the server.
    pub(super) target: String,
    pub(super) columns: Vec<Column>,
    /// The columns of the primary key, in its order.
    pub(super) key: Vec<String>,
    /// The column that is the rowid: `INTEGER PRIMARY KEY`.
    pub(super) identity: Option<String>,
    /// A word that names the rowid, if there is one that no column has.
    pub(super) rowid: Option<&'static str>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) definition: Definition,
    /// The largest id that AUTOINCREMENT has ever given.
    pub(super) last_id: Option<i64>,
}

/// A column.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub(super) name: String,
    /// The name on the server.
    pub(super) target: String,
    /// The type as it is declared.
    pub(super) declared: String,
    pub(super) is_not_null: bool,
    /// The default, as it is written.
    pub(super) default: Option<String>,
    pub(super) is_generated: bool,
    /// Its collation ignores the case of letters.
    pub(super) ignores_case: bool,
}

/// An index, or the index of a UNIQUE constraint.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) is_unique: bool,
    /// A UNIQUE constraint has made it.
    pub(super) is_constraint: bool,
    pub(super) columns: Vec<IndexColumn>,
    /// The statement that made it.
    pub(super) sql: Option<String>,
}

/// A column of an index.
#[derive(Debug)]
pub(super) struct IndexColumn {
    /// `None` for an expression.
    pub(super) name: Option<String>,
    pub(super) is_descending: bool,
    pub(super) ignores_case: bool,
}

/// A foreign key.
#[derive(Debug)]
pub(super) struct ForeignKey {
    pub(super) columns: Vec<String>,
    pub(super) parent: String,
    /// Empty for the primary key of the parent.
    pub(super) parent_columns: Vec<String>,
    pub(super) on_update: String,
    pub(super) on_delete: String,
    pub(super) is_deferred: bool,
}

/// The parts of a database beside its tables.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Views, triggers and virtual tables, each in words.
    pub(super) left_out: Vec<String>,
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        let mut columns = self.columns.iter();
        columns.find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Returns the name on the server of a column, or the name as it is.
    pub(super) fn target_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.column(name).map_or(name, |column| &column.target)
    }
}

impl Snapshot {
    /// Opens the file. What is written from now on is not seen.
    pub(super) fn open(config: &DatabaseConfig) -> Result<Self, Error> {
        let path = config.path.clone();
        if !path.is_file() {
            let shown = path.display();
            return Err(fault(format!(
                "there is no database {shown}: name the file of SQLite with --from"
            )));
        }
        // The file may be another program's, so its journal stays as it is.
        let begin = || -> rusqlite::Result<(Connection, i64)> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let sqlite = crate::sqlite::memory::connect(&path, flags)?;
            functions::install(&sqlite)?;
            sqlite.busy_timeout(Duration::from_millis(config.busy_millis_max))?;
            sqlite.execute_batch("PRAGMA query_only=ON; PRAGMA cell_size_check=ON; BEGIN")?;
            sqlite.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
            let version = sqlite.pragma_query_value(None, "data_version", |row| row.get(0))?;
            Ok((sqlite, version))
        };
        let (sqlite, version) = begin().map_err(|error| explain(&error, &path).error)?;
        Ok(Self {
            sqlite,
            path,
            version,
        })
    }

    /// Ends the snapshot. Reports whether the file was written to meanwhile.
    pub(super) fn end(&self) -> Result<bool, Error> {
        let end = || -> rusqlite::Result<i64> {
            self.sqlite.execute_batch("COMMIT")?;
            self.sqlite
                .pragma_query_value(None, "data_version", |row| row.get(0))
        };
        let version = end().map_err(|error| self.explained(&error))?;
        Ok(version != self.version)
    }

    pub(super) fn explained(&self, error: &rusqlite::Error) -> Error {
        explain(error, &self.path).error
    }

    /// Returns the migrations that the file has applied.
    pub(super) fn migrations(&self) -> Result<Vec<Applied>, Error> {
        applied_in(&self.sqlite).map_err(|error| self.explained(&error))
    }

    /// Refuses rows that refer to none.
    pub(super) fn check_keys(&self, tables: &[Table]) -> Result<(), Error> {
        for table in tables {
            match self.orphan(&table.name) {
                Ok(None) => {}
                Ok(Some(message)) => return Err(fault(message)),
                // A key that names no key of the parent is left out later.
                Err(error) if error.to_string().contains("foreign key mismatch") => {}
                Err(error) => return Err(self.explained(&error)),
            }
        }
        Ok(())
    }

    /// Returns what is wrong with a row that refers to none, if there is one.
    fn orphan(&self, table: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT rowid, parent FROM pragma_foreign_key_check(?) LIMIT 1";
        let mut statement = self.sqlite.prepare(sql)?;
        let mut rows = statement.query([table])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let (rowid, parent): (Option<i64>, String) = (row.get(0)?, row.get(1)?);
        let row = match rowid {
            Some(rowid) => format!("{table}, the row with the rowid {rowid},"),
            None => format!("a row of {table}"),
        };
        Ok(Some(format!(
            "{row} refers to a row of {parent} that does not exist, which PostgreSQL refuses: delete it or mend it"
        )))
    }

    /// Returns the tables of the app and of its capabilities, and the names of what else there is.
    pub(super) fn tables(&self) -> Result<(Vec<Table>, Others), Error> {
        let read = || -> rusqlite::Result<(Vec<Table>, Others)> {
            let sql = "SELECT l.name, l.type, s.sql FROM pragma_table_list AS l LEFT JOIN sqlite_schema AS s
                 ON s.name = l.name AND s.type IN ('table', 'view')
                 WHERE l.schema = 'main' AND l.type <> 'shadow' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                 ORDER BY l.name";
            let mut statement = self.sqlite.prepare(sql)?;
            let mut rows = statement.query(())?;
            let (mut tables, mut others) = (Vec::new(), Others::default());
            while let Some(row) = rows.next()? {
                let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
                let sql: Option<String> = row.get(2)?;
                match &*kind {
                    "table" => tables.push(self.table(name, &sql.unwrap_or_default())?),
                    "view" => others.left_out.push(format!("the view {name}")),
                    _ => others.left_out.push(format!("the virtual table {name}")),
                }
            }
            let sql = "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger' ORDER BY tbl_name, name";
            let mut statement = self.sqlite.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let (name, table): (String, String) = (row.get(0)?, row.get(1)?);
                others
                    .left_out
                    .push(format!("the trigger {name} of {table}"));
            }
            Ok((tables, others))
        };
        read().map_err(|error| self.explained(&error))
    }

    fn table(&self, name: String, sql: &str) -> rusqlite::Result<Table> {
        let definition = Definition::of(sql);
        let mut table = Table {
            target: target_name(&name, definition.is_plain),
            definition,
            name,
            ..Table::default()
        };
        self.read_columns(&mut table)?;
        let is_ordinary = self.read_indexes(&mut table)?;
        self.read_foreign_keys(&mut table)?;
        if is_ordinary {
            let is_free = |word: &&str| table.column(word).is_none();
            table.rowid = ["rowid", "_rowid_", "oid"].into_iter().find(is_free);
        }
        if self.sqlite.table_exists(Some("main"), "sqlite_sequence")? {
            let sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?";
            table.last_id = self
                .sqlite
                .query_row(sql, [&table.name], |row| row.get(0))?;
        }
        Ok(table)
    }

    fn read_columns(&self, table: &mut Table) -> rusqlite::Result<()> {
        // Hidden columns of the kind 1 are those of virtual tables; 2 and 3 are generated.
        let sql =
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?)
             WHERE hidden <> 1 ORDER BY cid";
        let mut statement = self.sqlite.prepare(sql)?;
        let mut rows = statement.query([&table.name])?;
        let mut key: Vec<(i64, String)> = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            let defined = table.definition.column(&name);
            let place: i64 = row.get(4)?;
            if place > 0 {
                key.push((place, name.clone()));
            }
            let column = Column {
                target: target_name(&name, defined.is_none_or(|column| column.is_plain)),
                declared: row.get::<_, String>(1)?.to_ascii_uppercase(),
                is_not_null: row.get(2)?,
                default: row.get(3)?,
                is_generated: row.get::<_, i64>(5)? > 1,
                ignores_case: defined
                    .and_then(|column| column.collation.as_deref())
                    .is_some_and(|collation| collation.eq_ignore_ascii_case("NOCASE")),
                name,
            };
            table.columns.push(column);
        }
        key.sort();
        table.key = key.into_iter().map(|(_, name)| name).collect();
        Ok(())
    }

    /// Reads the indexes. Reports whether rows have rowids.
    fn read_indexes(&self, table: &mut Table) -> rusqlite::Result<bool> {
        let sql = "SELECT l.name, l.\"unique\", l.origin, s.sql FROM pragma_index_list(?1) AS l
             LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name ORDER BY l.seq DESC";
        let mut statement = self.sqlite.prepare(sql)?;
        let mut rows = statement.query([&table.name])?;
        let mut has_key_index = false;
        while let Some(row) = rows.next()? {
            let (name, origin): (String, String) = (row.get(0)?, row.get(2)?);
            if origin == "pk" {
                has_key_index = true;
                continue;
            }
            table.indexes.push(Index {
                is_unique: row.get(1)?,
                is_constraint: origin == "u",
                columns: self.index_columns(&name)?,
                sql: row.get(3)?,
                name,
            });
        }
        let sql = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?";
        let is_without: bool = self
            .sqlite
            .query_row(sql, [&table.name], |row| row.get(0))?;
        // Only the rowid has a primary key without an index.
        if let ([one], false) = (&*table.key, has_key_index || is_without) {
            table.identity = Some(one.clone());
        }
        Ok(!is_without)
    }

    fn index_columns(&self, index: &str) -> rusqlite::Result<Vec<IndexColumn>> {
        let sql = "SELECT name, \"desc\", coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno";
        let mut statement = self.sqlite.prepare(sql)?;
        let columns = statement.query_map([index], |row| {
            let collation: Option<String> = row.get(2)?;
            Ok(IndexColumn {
                name: row.get(0)?,
                is_descending: row.get(1)?,
                ignores_case: collation.is_some_and(|it| it.eq_ignore_ascii_case("NOCASE")),
            })
        })?;
        columns.collect()
    }

    fn read_foreign_keys(&self, table: &mut Table) -> rusqlite::Result<()> {
        let sql = "SELECT id, \"table\", \"from\", \"to\", on_update, on_delete FROM pragma_foreign_key_list(?)
             ORDER BY id DESC, seq";
        let mut statement = self.sqlite.prepare(sql)?;
        let mut rows = statement.query([&table.name])?;
        let mut last = None;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if last.replace(id) != Some(id) {
                table.foreign_keys.push(ForeignKey {
                    columns: Vec::new(),
                    parent: row.get(1)?,
                    parent_columns: Vec::new(),
                    on_update: row.get(4)?,
                    on_delete: row.get(5)?,
                    is_deferred: false,
                });
            }
            if let Some(key) = table.foreign_keys.last_mut() {
                key.columns.push(row.get(2)?);
                key.parent_columns.extend(row.get::<_, Option<String>>(3)?);
            }
        }
        let deferred = &table.definition.deferred;
        for key in &mut table.foreign_keys {
            key.is_deferred = deferred.iter().any(|columns| {
                let mut pairs = columns.iter().zip(&key.columns);
                columns.len() == key.columns.len()
                    && pairs.all(|(one, other)| one.eq_ignore_ascii_case(other))
            });
        }
        Ok(())
    }
}

pub(super) fn fault(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Internal, message)
}
