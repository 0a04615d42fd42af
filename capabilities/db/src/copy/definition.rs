//! The parts of `CREATE TABLE` that SQLite's PRAGMAs do not tell: CHECK constraints, the expressions of generated
//! columns, collations, names in quotes, deferred foreign keys.

use super::tokens::{Token, tokens};

/// A table's definition.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Definition {
    /// The table's name is written without quotes.
    pub(super) is_plain: bool,
    pub(super) columns: Vec<ColumnDefinition>,
    /// The CHECK constraints of columns and table.
    pub(super) checks: Vec<Vec<Token>>,
    /// The columns of each foreign key that is checked at the end of the transaction.
    pub(super) deferred: Vec<Vec<String>>,
}

/// A column's definition.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ColumnDefinition {
    pub(super) name: String,
    /// The name is written without quotes.
    pub(super) is_plain: bool,
    pub(super) collation: Option<String>,
    /// The expression of a generated column.
    pub(super) generated: Option<Vec<Token>>,
}

impl Definition {
    /// Reads a statement, as SQLite keeps it in its schema.
    pub(super) fn of(sql: &str) -> Self {
        let all = tokens(sql);
        let mut definition = Self::default();
        let Some(open) = all.iter().position(|token| token.is_sign("(")) else {
            return definition;
        };
        let name = open.checked_sub(1).and_then(|at| all.get(at));
        definition.is_plain = matches!(name, Some(Token::Word(_)));
        for item in items(inside(&all[open..])) {
            definition.read(item);
        }
        definition
    }

    pub(super) fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        let mut columns = self.columns.iter();
        columns.find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Reads a column or a constraint of the table.
    fn read(&mut self, item: &[Token]) {
        const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
        let (name, is_plain) = match item.first() {
            Some(first) if CONSTRAINTS.iter().any(|word| first.is_word(word)) => {
                return self.read_parts(item, None);
            }
            Some(Token::Word(name)) => (name, true),
            // SQLite takes a string for a name here.
            Some(Token::Name(name) | Token::Text(name)) => (name, false),
            _ => return,
        };
        let mut column = ColumnDefinition {
            name: name.clone(),
            is_plain,
            ..ColumnDefinition::default()
        };
        self.read_parts(&item[1..], Some(&mut column));
        self.columns.push(column);
    }

    fn read_parts(&mut self, parts: &[Token], mut column: Option<&mut ColumnDefinition>) {
        let mut keyed: Vec<String> = column.iter().map(|column| column.name.clone()).collect();
        let mut at = 0;
        while let Some(token) = parts.get(at) {
            let rest = &parts[at + 1..];
            let group = rest
                .first()
                .is_some_and(|next| next.is_sign("("))
                .then(|| inside(rest));
            match (&mut column, group) {
                (_, Some(group)) if token.is_word("CHECK") => self.checks.push(group.to_vec()),
                (Some(column), Some(group)) if token.is_word("AS") => {
                    column.generated = Some(group.to_vec());
                }
                (None, Some(group)) if token.is_word("KEY") => keyed = names(group),
                (Some(column), _) if token.is_word("COLLATE") => {
                    column.collation = rest.first().and_then(name_of).map(str::to_owned);
                }
                _ => {}
            }
            let is_deferred = token.is_word("INITIALLY")
                && rest.first().is_some_and(|next| next.is_word("DEFERRED"));
            if is_deferred {
                self.deferred.push(keyed.clone());
            }
            at += 1 + group.map_or(0, |group| group.len() + 2);
        }
    }
}

/// Returns the name that a token is.
pub(super) fn name_of(token: &Token) -> Option<&str> {
    match token {
        Token::Word(name) | Token::Name(name) => Some(name),
        _ => None,
    }
}

fn names(list: &[Token]) -> Vec<String> {
    let names = items(list).into_iter();
    names
        .filter_map(|item| item.first().and_then(name_of))
        .map(str::to_owned)
        .collect()
}

/// Returns what stands between the bracket that the tokens begin with and its end.
pub(super) fn inside(tokens: &[Token]) -> &[Token] {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth -= 1;
            if depth == 0 {
                return &tokens[1..at];
            }
        }
    }
    tokens.get(1..).unwrap_or_default()
}

/// Splits a list at its commas.
pub(super) fn items(list: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0;
    list.split(|token| {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth -= 1;
        }
        depth == 0 && token.is_sign(",")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_collations_and_deferred_keys_are_found() {
        let definition = Definition::of(
            "CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY, \"Ünit\" TEXT COLLATE nocase CHECK (a IN (1, 2)),
             low AS (lower(b)) STORED, c INT DEFAULT (1 + 2) REFERENCES d(e) DEFERRABLE INITIALLY DEFERRED,
             CONSTRAINT x CHECK (b > ')'), FOREIGN KEY (a, [b c]) REFERENCES f INITIALLY DEFERRED)",
        );
        assert!(!definition.is_plain);
        let columns: Vec<_> = definition
            .columns
            .iter()
            .map(|column| (&*column.name, column.is_plain, column.collation.as_deref()))
            .collect();
        let expected = [
            ("id", true, None),
            ("Ünit", false, Some("nocase")),
            ("low", true, None),
            ("c", true, None),
        ];
        assert_eq!(columns, expected);
        assert_eq!(definition.columns[2].generated, Some(tokens("lower(b)")));
        assert_eq!(
            definition.checks,
            [tokens("a IN (1, 2)"), tokens("b > ')'")]
        );
        assert_eq!(
            definition.deferred,
            [vec!["c".to_owned()], vec!["a".into(), "b c".into()]]
        );
    }
}
