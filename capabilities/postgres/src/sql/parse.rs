//! A statement as PostgreSQL gets it: parameters as `$1`, and the words that decide how it is run.

use super::calls::Calls;
use super::tokens::{Token, Tokens, is_word};

/// The most parameters of a statement: their count has 16 bits in the protocol.
const PARAMS_MAX: u32 = u16::MAX as u32;

/// The kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Gives rows, and changes nothing unless a function in it does.
    Read,
    /// Changes rows.
    Write,
    /// Changes the schema, or anything else.
    Other,
    /// Begins or ends a transaction.
    Transaction,
    /// Sets a property of the transaction that is open.
    Local,
    /// Sends or takes rows beside statements.
    Copy,
    /// Changes the connection, or takes it over.
    Session,
    /// Makes a table, view or sequence that one connection alone has.
    Temporary,
    /// Changes a setting of the connection by `set_config`.
    Setting,
    /// Takes a lock that the connection keeps behind the transaction.
    Lock,
}

/// An INSERT without RETURNING.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Insert {
    /// The table's name as it is written.
    pub(crate) table: String,
    /// The place in the text for PostgreSQL where RETURNING goes.
    returning_at: usize,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sql {
    /// The text for PostgreSQL.
    pub(crate) text: String,
    /// The parameters `$1`, `$2` and so on: the name of each as it is written, with its prefix.
    pub(crate) params: Vec<Option<Box<str>>>,
    pub(crate) verb: Verb,
    /// True if there are only white space, comments and semicolons.
    pub(crate) is_empty: bool,
    /// The target of an INSERT without RETURNING.
    pub(crate) insert: Option<Insert>,
    /// Reports whether rows are asked for by RETURNING.
    pub(crate) has_returning: bool,
    /// Reports whether a function is called that may write.
    pub(crate) calls_functions: bool,
    /// Reports whether code runs that may leave settings, locks or temporary tables on the connection: DO and CALL.
    pub(crate) leaves_traces: bool,
    /// Reports whether it may change the types of columns: ALTER and DROP.
    pub(crate) changes_types: bool,
    /// Places behind parameters: in the text for PostgreSQL, and as it is written.
    places: Vec<(usize, usize)>,
}

impl Sql {
    /// Reads a statement.
    ///
    /// # Errors
    /// A message: there are too many parameters, a number is none of a parameter, or the text has a NUL.
    pub(crate) fn parse(sql: &str) -> Result<Self, String> {
        if sql.len() > crate::limits::SQL_BYTES_MAX {
            let max = crate::limits::SQL_BYTES_MAX;
            return Err(format!(
                "the statement has {} bytes, of which there may be {max}",
                sql.len()
            ));
        }
        if memchr::memchr(0, sql.as_bytes()).is_some() {
            return Err("the statement has a character NUL, which PostgreSQL does not take".into());
        }
        let mut parsed = Self {
            text: String::with_capacity(sql.len() + 8),
            params: Vec::new(),
            verb: Verb::Read,
            is_empty: false,
            insert: None,
            has_returning: false,
            calls_functions: false,
            leaves_traces: false,
            changes_types: false,
            places: Vec::new(),
        };
        let (mut words, mut calls) = (Words::default(), Calls::default());
        for (token, range) in Tokens::new(sql) {
            let (text, end) = (&sql[range.clone()], range.end);
            match token {
                Token::Positional => {
                    let number = parsed.params.len() as u32 + 1;
                    parsed.add_param(number, None, end)?;
                }
                Token::Numbered(number) => parsed.add_param(number, None, end)?,
                Token::Named => {
                    let known = parsed
                        .params
                        .iter()
                        .position(|name| name.as_deref() == Some(text));
                    let number = known.unwrap_or(parsed.params.len()) as u32 + 1;
                    parsed.add_param(number, Some(text), end)?;
                }
                Token::Doubled => {
                    parsed.text.push_str(&text[1..]);
                    parsed.places.push((parsed.text.len(), end));
                }
                _ => parsed.text.push_str(text),
            }
            calls.see(token, text, words.is_in_with());
            words.see(token, text, parsed.text.len());
        }
        parsed.is_empty = words.end == 0;
        parsed.verb = words.verb(&calls);
        parsed.calls_functions = calls.has_unknown;
        parsed.leaves_traces = matches!(words.first.as_deref(), Some("DO" | "CALL"));
        parsed.changes_types = matches!(words.first.as_deref(), Some("ALTER" | "DROP"));
        parsed.has_returning = words.has_returning;
        if !words.has_returning && !words.has_many {
            parsed.insert = words.table.map(|table| Insert {
                table,
                returning_at: words.end,
            });
        }
        Ok(parsed)
    }

    fn add_param(&mut self, number: u32, name: Option<&str>, end: usize) -> Result<(), String> {
        if number == 0 {
            return Err("parameters are numbered from 1".to_owned());
        }
        if number > PARAMS_MAX {
            return Err(format!(
                "the statement has more than {PARAMS_MAX} parameters: give a list as one, for = ANY(?)"
            ));
        }
        let count = self.params.len().max(number as usize);
        self.params.resize(count, None);
        if let Some(name) = name {
            self.params[number as usize - 1] = Some(name.into());
        }
        // Behind a letter it would be a part of that word.
        if self.text.bytes().next_back().is_some_and(is_word) {
            self.text.push(' ');
        }
        self.text.push('$');
        self.text.push_str(itoa::Buffer::new().format(number));
        self.places.push((self.text.len(), end));
        Ok(())
    }

    /// Reports whether it changes nothing, also not by a function that it calls.
    pub(crate) fn only_reads(&self) -> bool {
        self.verb == Verb::Read && !self.calls_functions
    }

    /// Returns the place in the statement as it is written, both in bytes, for one in the text for PostgreSQL.
    pub(crate) fn place(&self, at: usize) -> usize {
        let behind = self.places.partition_point(|&(place, _)| place <= at);
        match behind.checked_sub(1).map(|index| self.places[index]) {
            Some((place, written)) => written + (at - place),
            None => at,
        }
    }

    /// Returns the INSERT that also gives a column of the rows that it inserts.
    pub(crate) fn returning(&self, insert: &Insert, column: &str) -> Self {
        let mut with = self.clone();
        let quoted = column.replace('"', "\"\"");
        let clause = format!(" RETURNING \"{quoted}\"");
        with.text.insert_str(insert.returning_at, &clause);
        with.insert = None;
        with.has_returning = true;
        with
    }
}

/// A statement as the server gets it, and its parameters: the name of each as it is written.
pub type ServerSql = (String, Vec<Option<Box<str>>>);

/// Returns a statement as the server gets it.
///
/// # Errors
/// It cannot be one.
pub fn server_sql(sql: &str) -> Result<ServerSql, String> {
    let parsed = Sql::parse(sql)?;
    Ok((parsed.text, parsed.params))
}

/// The words of a parenthesis that has been opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// No words yet.
    Nothing,
    /// A `WITH`, and the statement behind that is still to come.
    With,
    /// The word that says what the statement does, or what is no statement.
    Seen,
}

/// The words of a statement outside of parentheses.
#[derive(Default)]
struct Words {
    /// The parentheses that are open.
    open: Vec<Inside>,
    first: Option<String>,
    second: Option<String>,
    /// The word that says what a statement does, behind `WITH`.
    main: Option<String>,
    /// The word before.
    last: String,
    /// True if there is an INTO that is neither that of an INSERT nor that of a MERGE.
    has_into: bool,
    /// A table, view, sequence or function is made that one connection alone has.
    makes_temporary: bool,
    /// A part of `WITH` changes rows.
    changes_inside: bool,
    has_returning: bool,
    /// The name behind `INSERT INTO`.
    table: Option<String>,
    is_in_table: bool,
    /// The end of the last token that is neither white space nor a semicolon, in the text for PostgreSQL.
    end: usize,
    has_ended: bool,
    /// True if there is something behind a semicolon.
    has_many: bool,
}

impl Words {
    fn see(&mut self, token: Token, text: &str, end: usize) {
        match token {
            Token::Gap => return,
            Token::Semicolon => {
                self.has_ended = true;
                self.is_in_table = false;
                return;
            }
            _ => {}
        }
        self.has_many |= self.has_ended;
        self.end = end;
        match token {
            Token::Open => {
                self.end_of_nothing();
                self.open.push(Inside::Nothing);
            }
            Token::Close => drop(self.open.pop()),
            Token::Word => {}
            _ => self.end_of_nothing(),
        }
        let is_name = matches!(token, Token::Word | Token::Quoted);
        if self.is_in_table {
            let table = self.table.get_or_insert_default();
            let is_next = (is_name && (table.is_empty() || table.ends_with('.')))
                || (token == Token::Dot && !table.is_empty());
            self.is_in_table = is_next;
            if is_next {
                table.push_str(text);
                return;
            }
        }
        if token != Token::Word {
            if self.open.is_empty() {
                self.last.clear();
            }
            return;
        }
        let word = text.to_ascii_uppercase();
        // Parentheses may stand around a whole SELECT.
        if self.first.is_none() {
            self.first = Some(word.clone());
        } else if self.second.is_none() {
            self.second = Some(word.clone());
        }
        let changes = matches!(&*word, "INSERT" | "UPDATE" | "DELETE" | "MERGE");
        let says_what = changes || matches!(&*word, "SELECT" | "VALUES" | "TABLE");
        if let Some(inside) = self.open.last_mut() {
            // Behind the first word of a statement these words may be names, or those of FOR UPDATE.
            *inside = match *inside {
                Inside::Nothing if word == "WITH" => Inside::With,
                Inside::With if !says_what => Inside::With,
                Inside::Nothing | Inside::With => {
                    self.changes_inside |= changes;
                    Inside::Seen
                }
                Inside::Seen => Inside::Seen,
            };
            return;
        }
        if self.main.is_none() && says_what {
            self.main = Some(word.clone());
        }
        match &*word {
            "INTO" if self.last == "INSERT" && self.table.is_none() => self.is_in_table = true,
            "INTO" => self.has_into |= !matches!(&*self.last, "INSERT" | "MERGE"),
            "RETURNING" => self.has_returning = true,
            "TEMP" | "TEMPORARY" | "PG_TEMP" => self.makes_temporary |= self.says_temporary(&word),
            _ => {}
        }
        self.last = word;
    }

    /// Takes note that the innermost parenthesis does not begin with a word.
    fn end_of_nothing(&mut self) {
        if let Some(inside @ Inside::Nothing) = self.open.last_mut() {
            *inside = Inside::Seen;
        }
    }

    /// Reports whether the parts of a `WITH` are being read that no parenthesis is around.
    fn is_in_with(&self) -> bool {
        self.open.is_empty() && self.main.is_none() && self.first.as_deref() == Some("WITH")
    }

    /// Reports whether a word that means something temporary says that something such is made.
    fn says_temporary(&self, word: &str) -> bool {
        let is_create = self.first.as_deref() == Some("CREATE");
        match &*self.last {
            "CREATE" | "REPLACE" => is_create,
            "INTO" => self.has_into,
            "GLOBAL" | "LOCAL" => is_create || self.has_into,
            _ => is_create && word == "PG_TEMP",
        }
    }

    fn verb(&self, calls: &Calls<'_>) -> Verb {
        let first = self.first.as_deref().unwrap_or_default();
        let verb = self.verb_of_words(first);
        // Others may name functions without calling them: CREATE FUNCTION, GRANT.
        let runs = matches!(verb, Verb::Read | Verb::Write)
            || first == "EXPLAIN"
            || (first, self.second.as_deref()) == ("CREATE", Some("TABLE"));
        match verb {
            Verb::Read | Verb::Write if self.has_into && self.makes_temporary => Verb::Temporary,
            Verb::Other if first == "CREATE" && self.makes_temporary => Verb::Temporary,
            _ if runs && calls.changes_setting => Verb::Setting,
            _ if runs && calls.locks => Verb::Lock,
            Verb::Read if self.has_into => Verb::Other,
            verb => verb,
        }
    }

    fn verb_of_words(&self, first: &str) -> Verb {
        match first {
            "SELECT" | "VALUES" | "TABLE" | "SHOW" => Verb::Read,
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => Verb::Write,
            "WITH" => match self.main.as_deref() {
                Some("SELECT" | "VALUES" | "TABLE") if !self.changes_inside => Verb::Read,
                _ => Verb::Write,
            },
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT"
            | "RELEASE" => Verb::Transaction,
            "PREPARE" | "EXECUTE" | "DEALLOCATE" | "DISCARD" | "RESET" | "LISTEN" | "UNLISTEN"
            | "DECLARE" | "FETCH" | "MOVE" | "CLOSE" | "LOAD" => Verb::Session,
            "COPY" => Verb::Copy,
            "SET" => match self.second.as_deref() {
                Some("LOCAL" | "TRANSACTION" | "CONSTRAINTS") => Verb::Local,
                _ => Verb::Session,
            },
            _ => Verb::Other,
        }
    }
}
