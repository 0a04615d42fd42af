//! Query plans, in plain words.
//!
//! SQLite's own words are in <https://www.sqlite.org/eqp.html>. They are not a stable interface, so a step that is not
//! known here is shown as SQLite tells it. A plan of PostgreSQL is shown in the words of its `EXPLAIN`.

use crate::config::DatabaseConfig;
use crate::postgres::database::PostgresDatabase;
use crate::postgres::recording::BATCH;
use rusqlite::{Connection, OpenFlags};
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresClient, RowLimits, server_sql};
use std::fmt;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The depth: 0 is the statement itself.
    pub depth: usize,
    /// The description.
    pub words: String,
    /// The advice that would make it faster, if there is something.
    pub hint: Option<String>,
    /// The step as the database tells it.
    pub sqlite: String,
}

impl fmt::Display for PlanStep {
    /// A line, indented by how deep it lies, with its hint on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = "  ".repeat(self.depth);
        write!(f, "{indent}{}", self.words)?;
        match &self.hint {
            Some(hint) => write!(f, "\n{indent}hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The plan of a statement of this database, on a connection of its own. Runs nothing of it.
///
/// # Errors
/// The database cannot be opened, or the statement is none of it.
pub fn explain(config: &DatabaseConfig, sql: &str) -> Result<Vec<PlanStep>, Error> {
    if config.is_postgres() {
        return steps_on_server(config, sql);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = crate::sqlite::memory::connect(&config.path, flags);
    let plan = sqlite.and_then(|sqlite| steps(&sqlite, sql));
    plan.map_err(|error| Error::script(crate::sqlite::error::words(&error)))
}

/// The plan of a statement on a server, for any values of its parameters.
fn steps_on_server(config: &DatabaseConfig, sql: &str) -> Result<Vec<PlanStep>, Error> {
    if after_word(sql, BATCH).is_some() {
        return Err(Error::script("a batch has the plans of its statements"));
    }
    let (text, params) = server_sql(sql).map_err(Error::script)?;
    let prepare =
        format!("SET LOCAL plan_cache_mode = force_generic_plan; PREPARE sampan_plan AS {text}");
    let values = match params.len() {
        0 => String::new(),
        count => format!("({})", vec!["NULL"; count].join(", ")),
    };
    let explain = format!("EXPLAIN EXECUTE sampan_plan{values}");
    let database = PostgresDatabase::new(config.clone())?;
    // The connection is one of its own, so the prepared statement ends with it.
    let rows = database.in_place(async move |client: PostgresClient| {
        let transaction = client.begin().await?;
        transaction.script(&prepare).await?;
        let limits = RowLimits::default();
        transaction.query(&explain, &Value::Null, limits).await
    })?;
    let lines = (0..rows.len()).filter_map(|row| match rows.cell(row, 0) {
        Cell::Text(line) => Some(line.to_owned()),
        _ => None,
    });
    let steps = lines.map(|line| PlanStep {
        depth: 0,
        words: line.clone(),
        hint: None,
        sqlite: line,
    });
    Ok(steps.collect())
}

/// The statement in one that begins with `EXPLAIN` or `EXPLAIN QUERY PLAN`.
pub(crate) fn explained(sql: &str) -> Option<&str> {
    let rest = after_word(sql, "EXPLAIN")?;
    let plan = after_word(rest, "QUERY").and_then(|rest| after_word(rest, "PLAN"));
    Some(plan.unwrap_or(rest))
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_at_checked(word.len())?;
    let is_it = first.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace);
    is_it.then(|| rest.trim_start())
}

/// The plan of a statement, without running it.
pub(crate) fn steps(sqlite: &Connection, sql: &str) -> rusqlite::Result<Vec<PlanStep>> {
    // The error of the statement itself has its place in the text.
    drop(sqlite.prepare(sql)?);
    let mut statement = sqlite.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let selects = selects(sql);
    let mut rows = statement.raw_query();
    let (mut steps, mut depths) = (Vec::new(), vec![(0_i64, 0_usize)]);
    while let Some(row) = rows.next()? {
        let (id, parent, detail): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let above = depths.iter().rev().find(|(known, _)| *known == parent);
        let depth = above.map_or(0, |(_, depth)| *depth);
        depths.push((id, depth + 1));
        let (words, hint) = told(&detail, selects);
        steps.push(PlanStep {
            depth,
            words,
            hint,
            sqlite: detail,
        });
    }
    if steps.is_empty() {
        steps.push(PlanStep {
            depth: 0,
            words: "no table is searched".to_owned(),
            hint: None,
            sqlite: String::new(),
        });
    }
    Ok(steps)
}

/// Reports whether the statement chooses rows, or puts them in an order: whether reading all of a table may be more
/// than it needs.
fn selects(sql: &str) -> bool {
    let mut words = sql.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
    words.any(|word| {
        ["WHERE", "JOIN", "ON"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(word))
    })
}

/// A step in plain words, and a hint.
fn told(detail: &str, selects: bool) -> (String, Option<String>) {
    let (step, left_join) = match detail.strip_suffix(" LEFT-JOIN") {
        Some(step) => (step, "; where there is none, the row is kept (LEFT JOIN)"),
        None => (detail, ""),
    };
    let (words, hint) = if let Some(what) = step.strip_prefix("SCAN ") {
        scan(what, selects)
    } else if let Some(what) = step.strip_prefix("SEARCH ") {
        search(what)
    } else {
        other(step)
    };
    (format!("{words}{left_join}"), hint)
}

fn scan(what: &str, selects: bool) -> (String, Option<String>) {
    if let Some((table, index)) = what.split_once(" USING COVERING INDEX ") {
        return (
            format!("read every entry of the index {index} of {table}"),
            None,
        );
    }
    if let Some((table, index)) = what.split_once(" USING INDEX ") {
        return (
            format!("read every row of {table}, in the order of the index {index}"),
            None,
        );
    }
    if let Some((table, _)) = what.split_once(" VIRTUAL TABLE INDEX ") {
        return (format!("ask the virtual table {table}"), None);
    }
    if what == "CONSTANT ROW"
        || what.ends_with(" CONSTANT ROWS")
        || what.ends_with("-ROW VALUES CLAUSE")
    {
        return ("take the values that are written there".to_owned(), None);
    }
    let hint = selects.then(|| {
        format!(
            "no index helps to choose rows of {what}: CREATE INDEX on its column in WHERE or ON"
        )
    });
    (format!("read every row of {what}"), hint)
}

fn search(what: &str) -> (String, Option<String>) {
    let (table, how) = what.split_once(" USING ").unwrap_or((what, ""));
    let terms = how
        .split_once(" (")
        .map_or("", |(_, terms)| terms.strip_suffix(')').unwrap_or(terms));
    let whose = match terms {
        "" => String::new(),
        _ => format!(", where {}", spaced(terms)),
    };
    let name = how.split_once(" (").map_or(how, |(name, _)| name);
    if let Some(index) = name.strip_prefix("COVERING INDEX ") {
        return (
            format!("find rows of {table} in the index {index} alone{whose}"),
            None,
        );
    }
    if let Some(index) = name.strip_prefix("INDEX ") {
        return (
            format!("find rows of {table} by the index {index}{whose}"),
            None,
        );
    }
    if name.starts_with("AUTOMATIC") {
        let columns: Vec<&str> = terms.split(" AND ").map(column).collect();
        let columns = columns.join(", ");
        let words = format!(
            "build an index on {table}({columns}) for this statement only, and find rows by it{whose}"
        );
        let hint = format!("keep that index: CREATE INDEX on the table of {table} ({columns})");
        return (words, Some(hint));
    }
    if name.ends_with("PRIMARY KEY") {
        return (
            format!("find rows of {table} by its primary key{whose}"),
            None,
        );
    }
    match table.split_once(" VIRTUAL TABLE INDEX ") {
        Some((table, _)) => (format!("ask the virtual table {table}"), None),
        None => (format!("find rows of {what}"), None),
    }
}

fn other(step: &str) -> (String, Option<String>) {
    let words = if let Some(what) = step.strip_prefix("USE TEMP B-TREE FOR ") {
        let sorted = match what {
            "DISTINCT" => "remember the rows that were seen, for DISTINCT",
            "GROUP BY" => "sort the rows for GROUP BY",
            "ORDER BY" => "sort the rows for ORDER BY",
            _ if what.ends_with("ORDER BY") => "sort rows that are partly in order, for ORDER BY",
            _ => return (step.to_owned(), None),
        };
        sorted.to_owned()
    } else if let Some(name) = step.strip_prefix("CO-ROUTINE ") {
        format!("compute {name} row by row")
    } else if let Some(name) = step.strip_prefix("MATERIALIZE ") {
        format!("compute {name} once and keep it")
    } else if step.starts_with("CORRELATED SCALAR SUBQUERY") {
        "compute a subquery again for each row".to_owned()
    } else if step.starts_with("CORRELATED LIST SUBQUERY") {
        "compute the list of IN again for each row".to_owned()
    } else if step.starts_with("SCALAR SUBQUERY") {
        "compute a subquery once".to_owned()
    } else if step.starts_with("LIST SUBQUERY") {
        "compute the list of IN once".to_owned()
    } else if let Some(what) = step.strip_prefix("BLOOM FILTER ON ") {
        let table = what.split(' ').next().unwrap_or(what);
        format!("skip rows that cannot match any of {table} (Bloom filter)")
    } else {
        match step {
            "MULTI-INDEX OR" => "for each side of OR",
            "COMPOUND QUERY" => "combine the results of several queries",
            "LEFT-MOST SUBQUERY" => "the first query",
            "UNION ALL" => "the next query",
            "UNION USING TEMP B-TREE" => "the next query, without rows that were there",
            "EXCEPT USING TEMP B-TREE" => "without the rows of the next query",
            "INTERSECT USING TEMP B-TREE" => "only the rows that the next query has too",
            "SETUP" => "the rows to begin with",
            "RECURSIVE STEP" => "again and again, for each row found so far",
            _ => step,
        }
        .to_owned()
    };
    (words, None)
}

/// The column of a term such as `a=?`.
fn column(term: &str) -> &str {
    let end = term.find(['=', '<', '>', ' ']);
    &term[..end.unwrap_or(term.len())]
}

/// `a=? AND b>?` as people write it.
fn spaced(terms: &str) -> String {
    let terms = terms.split(" AND ").map(|term| {
        let name = column(term);
        match term[name.len()..].strip_suffix('?') {
            Some(operator @ ("=" | "<" | ">" | "<=" | ">=")) => format!("{name} {operator} ?"),
            _ => term.to_owned(),
        }
    });
    terms.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sql: &str) -> String {
        let sqlite = crate::sqlite::memory::connect_in_memory().expect("memory");
        let made = sqlite.execute_batch(
            "CREATE TABLE a(id INTEGER PRIMARY KEY, name, age); CREATE INDEX a_name ON a(name);
             CREATE TABLE b(x, y); CREATE VIRTUAL TABLE f USING fts5(t);",
        );
        made.expect("made");
        let steps = steps(&sqlite, sql).expect("a plan");
        let shown = steps.iter().map(|step| {
            let hint = step
                .hint
                .as_ref()
                .map_or(String::new(), |hint| format!(" ! {hint}"));
            format!("{}{}{hint}", "  ".repeat(step.depth), step.words)
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_plan_reads_as_words() {
        for (sql, words) in [
            ("SELECT * FROM b", "read every row of b"),
            (
                "SELECT * FROM a WHERE id = 1",
                "find rows of a by its primary key, where rowid = ?",
            ),
            (
                "SELECT * FROM a WHERE name = 'x' AND age > 3",
                "find rows of a by the index a_name, where name = ?",
            ),
            (
                "SELECT name FROM a ORDER BY name",
                "read every entry of the index a_name of a",
            ),
            (
                "SELECT * FROM b WHERE y = 1 ORDER BY x",
                "read every row of b ! no index helps to choose rows of b: CREATE INDEX on its column in WHERE or \
                 ON\nsort the rows for ORDER BY",
            ),
            (
                "SELECT * FROM f WHERE f MATCH 'x'",
                "ask the virtual table f",
            ),
            ("SELECT 1", "take the values that are written there"),
            (
                "SELECT * FROM a WHERE name IN (SELECT y FROM b)",
                "find rows of a by the index a_name, where name = ?\n\
                 compute the list of IN once\n  read every row of b",
            ),
            (
                "DELETE FROM a WHERE name = 1 OR id = 2",
                "for each side of OR",
            ),
        ] {
            assert!(plan(sql).starts_with(words), "{sql}:\n{}", plan(sql));
        }
        let joined = plan("SELECT * FROM b LEFT JOIN b AS c ON b.x = c.y");
        assert!(
            joined.contains("CREATE INDEX on the table of c (y)"),
            "{joined}"
        );
    }

    #[test]
    fn explain_is_recognized_in_both_forms() {
        assert_eq!(explained("explain query  plan SELECT 1"), Some("SELECT 1"));
        assert_eq!(explained("EXPLAIN\nSELECT 1"), Some("SELECT 1"));
        assert_eq!(explained("EXPLAINED"), None);
        assert_eq!(explained("SELECT 1"), None);
    }
}
