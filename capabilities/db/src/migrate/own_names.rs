//! Names that belong to the server's own tables: migrations may not take them, nor change the list of migrations.

/// The prefix of the server's own tables.
const PREFIX: &str = "_sampan_";
/// The table of the migrations that are applied.
const LIST: &str = "_sampan_migrations";

/// Returns the refusal of a statement that gives a table, view, index or trigger one of the server's own names, or that
/// changes the list of migrations.
pub(super) fn refusal(statement: &str) -> Option<String> {
    let words = words_before_parenthesis(statement);
    if changes_list(&words) {
        return Some(format!(
            "{LIST} lists the migrations that are applied, and the server alone writes it: take the statement out"
        ));
    }
    let (first, rest) = words.split_first()?;
    let name = match first.to_ascii_uppercase().as_str() {
        "CREATE" => created(rest)?,
        "ALTER" => renamed(rest)?,
        _ => return None,
    };
    let start = name.get(..PREFIX.len())?;
    start.eq_ignore_ascii_case(PREFIX).then(|| {
        format!("{name}: names that begin with {PREFIX} belong to the server: choose another one")
    })
}

/// Returns the name behind `CREATE`, which is the last word before its definition, of one schema or of none.
fn created<'a>(words: &[&'a str]) -> Option<&'a str> {
    const KINDS: [&str; 4] = ["TABLE", "VIEW", "INDEX", "TRIGGER"];
    const BEFORE_NAME: [&str; 4] = ["CONCURRENTLY", "IF", "NOT", "EXISTS"];
    let kind = words.iter().position(|word| is_one_of(word, &KINDS))?;
    let mut named = words[kind + 1..].iter();
    let name = named.find(|word| !is_one_of(word, &BEFORE_NAME))?;
    Some(match named.next() {
        Some(&".") => named.next().unwrap_or(name),
        _ => name,
    })
}

/// Returns the new name of `ALTER ... RENAME TO`.
fn renamed<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut pairs = words.windows(3);
    let found =
        pairs.find(|three| is_one_of(three[0], &["RENAME"]) && is_one_of(three[1], &["TO"]));
    found.map(|three| three[2])
}

/// Reports whether a statement names the list of migrations as what it changes.
fn changes_list(words: &[&str]) -> bool {
    const CHANGES: [&str; 7] = [
        "ALTER", "DELETE", "DROP", "INSERT", "REPLACE", "TRUNCATE", "UPDATE",
    ];
    const BEHIND_NAME: [&str; 6] = ["DEFAULT", "SELECT", "SET", "USING", "VALUES", "WHERE"];
    let changes = words.first().is_some_and(|word| is_one_of(word, &CHANGES));
    let mut named = words
        .iter()
        .take_while(|word| !is_one_of(word, &BEHIND_NAME));
    changes && named.any(|word| word.eq_ignore_ascii_case(LIST))
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the words of a statement before its first parenthesis or semicolon, names without their quotes, and dots.
fn words_before_parenthesis(statement: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = statement;
    while let Some(first) = rest.chars().next() {
        let closing = match first {
            '"' | '`' | '\'' => Some(first),
            '[' => Some(']'),
            _ => None,
        };
        let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(closing) = closing {
            let quoted = &rest[1..];
            let end = quoted.find(closing).unwrap_or(quoted.len());
            words.push(&quoted[..end]);
            (end + 2).min(rest.len())
        } else if is_part(first) {
            let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
            words.push(&rest[..end]);
            end
        } else if matches!(first, '(' | ';') {
            break;
        } else {
            if first == '.' {
                words.push(&rest[..1]);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_server_are_refused() {
        for refused in [
            "CREATE TABLE _sampan_jobs(x)",
            "create table if not exists main . \"_SAMPAN_jobs\" (x)",
            "CREATE TEMP VIEW [_sampan_a] AS SELECT 1",
            "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS _sampan_i ON a(b)",
            "CREATE TRIGGER `_sampan_t` AFTER INSERT ON a BEGIN SELECT 1; END",
            "CREATE /* a ( b */ VIRTUAL TABLE -- (\n _sampan_f USING fts5(a)",
            "ALTER TABLE a RENAME TO _sampan_b",
            "ALTER INDEX IF EXISTS public.a RENAME TO \"_sampan_b\"",
        ] {
            let refusal = refusal(refused);
            assert!(
                refusal.is_some_and(|text| text.contains("belong to the server")),
                "{refused}"
            );
        }
        for refused in [
            "DELETE FROM _sampan_migrations",
            "delete from main.\"_SAMPAN_migrations\" where id = 1",
            "UPDATE OR IGNORE _sampan_migrations SET checksum = ''",
            "INSERT OR REPLACE INTO _sampan_migrations VALUES (1, 'a', 'b', 'c')",
            "REPLACE INTO _sampan_migrations(id) VALUES (1)",
            "DROP TABLE IF EXISTS _sampan_migrations",
            "ALTER TABLE _sampan_migrations RENAME TO a",
            "TRUNCATE a, _sampan_migrations",
        ] {
            let refusal = refusal(refused);
            assert!(
                refusal.is_some_and(|text| text.contains("the server alone writes it")),
                "{refused}"
            );
        }
        for taken in [
            "DELETE FROM _sampan_sessions",
            "DELETE FROM a WHERE b = _sampan_migrations",
            "INSERT INTO a SELECT name FROM _sampan_migrations",
            "UPDATE a SET n = b FROM _sampan_migrations",
            "SELECT * FROM _sampan_migrations",
            "CREATE TABLE sampan_jobs(x)",
            "CREATE INDEX a ON _sampan_jobs(x)",
            "CREATE TABLE \u{e4}\u{e4}\u{e4}\u{e4}(x)",
            "CREATE TABLE a AS SELECT * FROM _sampan_jobs",
            "ALTER TABLE a RENAME COLUMN b TO c",
            "INSERT INTO a VALUES ('CREATE TABLE _sampan_jobs')",
            "CREATE TABLE \"",
            "CREATE",
            "CREATE TABLE",
            "ALTER TABLE a RENAME TO",
            "/*",
            "",
        ] {
            assert_eq!(refusal(taken), None, "{taken}");
        }
    }
}
