//! The statements that a worker knows, by their text.

use crate::connection::statement::Statement;
use crate::error::refused;
use crate::limits::{KEPT_SQL_BYTES_MAX, KNOWN_STATEMENTS_MAX};
use crate::sql::Sql;
use hashlink::LruCache;
use sampan_host::Error;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(crate) struct Statements {
    known: RefCell<LruCache<Box<str>, Rc<Statement>>>,
    last_id: Cell<u64>,
}

impl Default for Statements {
    fn default() -> Self {
        Self {
            known: RefCell::new(LruCache::new(KNOWN_STATEMENTS_MAX)),
            last_id: Cell::new(0),
        }
    }
}

impl Statements {
    /// Forgets all of them. Those that are under way go on.
    pub(crate) fn clear(&self) {
        self.known.borrow_mut().clear();
    }

    /// Returns the statement of a text as a script writes it.
    ///
    /// # Errors
    /// The text cannot be one, see [`Sql::parse`], or there is none in it.
    pub(crate) fn get(&self, sql: &str) -> Result<Rc<Statement>, Error> {
        if let Some(known) = self.known.borrow_mut().get(sql) {
            return Ok(Rc::clone(known));
        }
        let parsed = Sql::parse(sql).map_err(|why| refused("syntax", &why, sql))?;
        if parsed.is_empty {
            return Err(refused("syntax", "there is no statement in it", sql));
        }
        Ok(self.add(sql, parsed))
    }

    /// Returns the statement that stands for a text, which `make` gives where it is not known.
    pub(crate) fn get_or_add(&self, key: &str, make: impl FnOnce() -> Sql) -> Rc<Statement> {
        if let Some(known) = self.known.borrow_mut().get(key) {
            return Rc::clone(known);
        }
        self.add(key, make())
    }

    /// Returns the statement that has replaced one which did not fit the schema any more, or itself.
    pub(crate) fn current(&self, key: &str, statement: &Rc<Statement>) -> Rc<Statement> {
        if statement.is_stale.get()
            && let Some(known) = self.known.borrow_mut().get(key)
        {
            return Rc::clone(known);
        }
        Rc::clone(statement)
    }

    /// Replaces a statement that does not fit the schema any more by one that the server has to describe.
    pub(crate) fn renew(&self, key: &str, stale: &Statement) -> Rc<Statement> {
        if let Some(known) = self.known.borrow_mut().get(key)
            && known.id != stale.id
        {
            return Rc::clone(known);
        }
        stale.is_stale.set(true);
        self.add(key, stale.sql.clone())
    }

    fn add(&self, key: &str, sql: Sql) -> Rc<Statement> {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        let statement = Rc::new(Statement {
            id,
            is_kept: sql.text.len() <= KEPT_SQL_BYTES_MAX,
            sql,
            shape: RefCell::default(),
            is_stale: Cell::new(false),
        });
        if statement.is_kept {
            let mut known = self.known.borrow_mut();
            known.insert(key.into(), Rc::clone(&statement));
        }
        statement
    }
}
