//! The statements that a connection keeps prepared, and the connection that they belong to.
//!
//! A statement stays where it is while it runs, and the few that were used last are compared before anything is hashed:
//! taking it out of a cache and putting it back was a third of what a small INSERT cost.
#![allow(unsafe_code)]

use crate::sqlite::run::Trouble;
use crate::sqlite::statement::Statement;
use hashlink::LruCache;
use rusqlite::Connection;
use std::cell::{RefCell, RefMut};

/// The number of statements that are compared before the others are asked: those of a request or two.
const RECENT_MAX: usize = 4;

/// The number of statements of our own that are kept; they are few, and come again and again.
const CONTROLS_MAX: usize = 16;

/// A connection with its prepared statements. Fields are dropped in this order: statements before the connection.
pub(crate) struct Prepared {
    scripts: RefCell<StatementCache>,
    controls: RefCell<StatementCache>,
    sqlite: Connection,
}

impl Prepared {
    /// Keeps up to `statements_max` statements of scripts, at least one.
    pub(crate) fn new(sqlite: Connection, statements_max: usize) -> Self {
        Self {
            scripts: RefCell::new(StatementCache::new(statements_max)),
            controls: RefCell::new(StatementCache::new(CONTROLS_MAX)),
            sqlite,
        }
    }

    /// The connection.
    pub(crate) fn sqlite(&self) -> &Connection {
        &self.sqlite
    }

    /// Finds a script's statement of this text, or prepares it where `check` has nothing against it. One at a time.
    pub(crate) fn script(
        &self,
        text: &str,
        check: impl FnOnce() -> Result<(), Trouble>,
    ) -> Result<RefMut<'_, Statement>, Trouble> {
        self.find(&self.scripts, text, check)
    }

    /// Finds one of our own statements, or prepares it. One at a time.
    pub(crate) fn control(&self, text: &str) -> Result<RefMut<'_, Statement>, Trouble> {
        self.find(&self.controls, text, || Ok(()))
    }

    fn find<'a>(
        &self,
        kept: &'a RefCell<StatementCache>,
        text: &str,
        check: impl FnOnce() -> Result<(), Trouble>,
    ) -> Result<RefMut<'a, Statement>, Trouble> {
        let mut kept = kept.borrow_mut();
        kept.bring_to_front(text, || {
            check()?;
            // SAFETY: the statement stays in `self`, which drops it before the connection and is not `Sync`.
            unsafe { Statement::prepare(&self.sqlite, text) }
        })?;
        Ok(RefMut::map(kept, |kept| &mut *kept.recent[0].1))
    }

    /// Returns the number of statements of scripts that are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let scripts = self.scripts.borrow();
        scripts.others.len() + scripts.recent.len()
    }
}

struct StatementCache {
    /// Those that were used last with their texts, the very last in front; they are not among the others.
    recent: Vec<(Box<str>, Box<Statement>)>,
    /// At least one.
    recent_max: usize,
    others: LruCache<Box<str>, Box<Statement>>,
}

impl StatementCache {
    fn new(statements_max: usize) -> Self {
        let recent_max = statements_max.clamp(1, RECENT_MAX);
        Self {
            recent: Vec::with_capacity(recent_max),
            recent_max,
            others: LruCache::new(statements_max.saturating_sub(recent_max)),
        }
    }

    /// Makes the statement of this text the one that was used last.
    fn bring_to_front(
        &mut self,
        text: &str,
        prepare: impl FnOnce() -> Result<Statement, Trouble>,
    ) -> Result<(), Trouble> {
        match self.recent.iter().position(|(known, _)| **known == *text) {
            // They are few: cheaper than to rotate them.
            Some(at) => (0..at).rev().for_each(|at| self.recent.swap(at, at + 1)),
            None => {
                let found = match self.others.remove_entry(text) {
                    Some(found) => found,
                    None => (text.into(), Box::new(prepare()?)),
                };
                if self.recent.len() == self.recent_max
                    && let Some((text, oldest)) = self.recent.pop()
                {
                    self.others.insert(text, oldest);
                }
                self.recent.insert(0, found);
            }
        }
        Ok(())
    }
}
