//! The statements that a connection keeps prepared, and the connection that they belong to.
//!
//! rusqlite's own cache takes a statement out and puts it back each time, which hashes its text twice and allocates a copy of
//! it: a third of what a small INSERT costs. Here a statement stays where it is, and the few that were used last are compared
//! before anything is hashed. Each statement borrows the connection for as long as it lives; that this is shorter than the
//! connection's life is up to this module.
#![allow(unsafe_code)]

use crate::sqlite::run::Known;
use hashlink::LruCache;
use rusqlite::{Connection, PrepFlags, Statement};
use std::cell::RefCell;
use std::ptr::NonNull;

/// A connection with its prepared statements.
pub(crate) struct Prepared {
    /// Fields are dropped in this order: statements before the connection.
    statements: RefCell<Statements>,
    /// Those of our own, which are few and come again and again.
    controls: RefCell<Vec<(Box<str>, Statement<'static>)>>,
    sqlite: Owned,
}

/// How many statements of our own are kept.
const CONTROLS_MAX: usize = 16;

/// How many statements are compared before the others are asked: those of a request or two.
const RECENT_MAX: usize = 4;

struct Statements {
    /// Those that were used last, the very last in front; they are not among the others.
    #[expect(
        clippy::vec_box,
        reason = "entries are large and change places at every other call"
    )]
    recent: Vec<Box<CachedStatement>>,
    /// At least one.
    recent_max: usize,
    /// Without their texts, which are the keys.
    others: LruCache<Box<str>, Box<CachedStatement>>,
}

struct CachedStatement {
    text: Box<str>,
    known: Known,
    statement: Statement<'static>,
}

/// A connection at an address of its own, to which statements point while this value moves.
struct Owned(NonNull<Connection>);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box in `Prepared::new`, is freed here only, and no statement is left that follows it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: a `rusqlite::Connection` is `Send`. What keeps a `Statement` from being so is its reference to the connection, which
// moves along with it: no reference to either outlives a borrow of `Prepared`, which is not `Sync`, and SQLite is built to be
// used by one thread after the other.
unsafe impl Send for Prepared {}

impl Prepared {
    /// Keeps up to `statements_max` statements, at least one.
    pub(crate) fn new(sqlite: Connection, statements_max: usize) -> Self {
        let recent_max = statements_max.clamp(1, RECENT_MAX);
        let statements = Statements {
            recent: Vec::with_capacity(recent_max),
            recent_max,
            others: LruCache::new(statements_max.saturating_sub(recent_max)),
        };
        Self {
            statements: RefCell::new(statements),
            controls: RefCell::default(),
            sqlite: Owned(NonNull::from(Box::leak(Box::new(sqlite)))),
        }
    }

    /// The connection.
    pub(crate) fn sqlite(&self) -> &Connection {
        // SAFETY: the connection lives until `self.sqlite` is dropped, and only shared references to it exist.
        unsafe { self.sqlite.0.as_ref() }
    }

    /// Finds the statement of this text, or has it prepared by `prepare`, and works with it. Its parameters are forgotten
    /// afterwards. `work` must not come back here.
    pub(crate) fn with<T, E>(
        &self,
        text: &str,
        prepare: impl for<'a> FnOnce(&'a Connection) -> Result<(Statement<'a>, Known), E>,
        work: impl for<'a> FnOnce(&mut Statement<'a>, &mut Known) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut statements = self.statements.borrow_mut();
        let entry = self.find(&mut statements, text, prepare)?;
        /// Drops what was bound, which may be large, after a panic too.
        struct Cleared<'a>(&'a mut Statement<'static>);
        impl Drop for Cleared<'_> {
            fn drop(&mut self) {
                self.0.clear_bindings();
            }
        }
        let cleared = Cleared(&mut entry.statement);
        work(&mut *cleared.0, &mut entry.known)
    }

    /// What is known of the statement of this text, found or prepared as by [`Prepared::with`].
    pub(crate) fn ask<T, E>(
        &self,
        text: &str,
        prepare: impl for<'a> FnOnce(&'a Connection) -> Result<(Statement<'a>, Known), E>,
        question: impl FnOnce(&Known) -> T,
    ) -> Result<T, E> {
        let mut statements = self.statements.borrow_mut();
        let entry = self.find(&mut statements, text, prepare)?;
        Ok(question(&entry.known))
    }

    /// Works with one of our own statements, which has no parameters. `work` must not come back here.
    pub(crate) fn control<T, E: From<rusqlite::Error>>(
        &self,
        text: &str,
        work: impl for<'a> FnOnce(&mut Statement<'a>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut controls = self.controls.borrow_mut();
        if let Some((_, statement)) = controls.iter_mut().find(|(known, _)| **known == *text) {
            return work(statement);
        }
        let mut statement = self
            .sqlite()
            .prepare_with_flags(text, PrepFlags::SQLITE_PREPARE_PERSISTENT)?;
        let result = work(&mut statement);
        if controls.len() < CONTROLS_MAX {
            // SAFETY: as in `meet`.
            let statement =
                unsafe { std::mem::transmute::<Statement<'_>, Statement<'static>>(statement) };
            controls.push((text.into(), statement));
        }
        result
    }

    /// Makes the statement of this text the one that was used last.
    fn find<'a, E>(
        &self,
        statements: &'a mut Statements,
        text: &str,
        prepare: impl for<'b> FnOnce(&'b Connection) -> Result<(Statement<'b>, Known), E>,
    ) -> Result<&'a mut CachedStatement, E> {
        let recent = &mut statements.recent;
        match recent.iter().position(|entry| *entry.text == *text) {
            Some(0) => {}
            Some(at) => recent[..=at].rotate_right(1),
            None => {
                let entry = match statements.others.remove_entry(text) {
                    Some((text, mut entry)) => {
                        entry.text = text;
                        entry
                    }
                    None => self.meet(text, prepare)?,
                };
                if recent.len() == statements.recent_max {
                    let mut oldest = recent.pop().expect("there is room for one at least");
                    let text = std::mem::take(&mut oldest.text);
                    statements.others.insert(text, oldest);
                }
                recent.insert(0, entry);
            }
        }
        Ok(&mut recent[0])
    }

    /// Prepares the statement of this text.
    #[cold]
    fn meet<E>(
        &self,
        text: &str,
        prepare: impl for<'b> FnOnce(&'b Connection) -> Result<(Statement<'b>, Known), E>,
    ) -> Result<Box<CachedStatement>, E> {
        let (statement, known) = prepare(self.sqlite())?;
        // SAFETY: the connection has an address of its own and is dropped after all statements; a statement leaves this module
        // only as a reference that ends with `work`.
        let statement =
            unsafe { std::mem::transmute::<Statement<'_>, Statement<'static>>(statement) };
        Ok(Box::new(CachedStatement {
            text: text.into(),
            known,
            statement,
        }))
    }

    /// How many statements are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let statements = self.statements.borrow();
        statements.others.len() + statements.recent.len()
    }
}
