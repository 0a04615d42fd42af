//! How SQLite would carry out a statement, for those who develop.

use crate::config::DatabaseConfig;
use rusqlite::{Connection, OpenFlags};
use sampan_host::Error;

/// The plan of a statement, one step a line, indented below what it is a part of. Runs nothing of it.
///
/// # Errors
/// The database cannot be opened, or the statement is none of it.
pub fn explain(config: &DatabaseConfig, sql: &str) -> Result<Vec<String>, Error> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = Connection::open_with_flags(&config.path, flags)?;
        let mut statement = sqlite.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let mut rows = statement.raw_query();
        let (mut lines, mut depths) = (Vec::new(), vec![(0, 0)]);
        while let Some(row) = rows.next()? {
            let (id, parent, text): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
            let above = depths.iter().rev().find(|(known, _)| *known == parent);
            let depth = above.map_or(0, |(_, depth)| depth + 1);
            depths.push((id, depth));
            lines.push(format!("{}{text}", "  ".repeat(depth)));
        }
        Ok(lines)
    };
    read().map_err(|error| Error::script(crate::sqlite::error::words(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_scans_and_indexes() {
        let scratch = tempfile::tempdir().expect("a folder");
        let config = DatabaseConfig::new(scratch.path().join("data.db"));
        let made = Connection::open(&config.path).expect("a database");
        made.execute_batch("CREATE TABLE t (a PRIMARY KEY, b)")
            .expect("made");
        let plan = |sql: &str| explain(&config, sql).expect("a plan").join("|");
        assert!(plan("SELECT * FROM t WHERE b = ?").contains("SCAN t"));
        assert!(plan("DELETE FROM t WHERE a = :a").contains("SEARCH t USING"));
        assert!(explain(&config, "SELECT * FROM gone").is_err());
    }
}
