//! Messages for the next page: kept in the session under a key of their own.

use crate::entries::Entries;
use crate::limits::FLASHES_MAX;
use sampan_host::{Error, Value};

/// The key under which they are kept. Scripts do not see it.
pub(crate) const KEY: &str = "_flash";

/// The messages of one request.
#[derive(Default)]
pub(crate) struct Flashes {
    /// Those that earlier requests left.
    seen: Vec<Value>,
    is_taken: bool,
    added: Vec<Value>,
}

fn list(entries: &Entries) -> Vec<Value> {
    match entries.get(KEY) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    }
}

impl Flashes {
    /// Takes them out of what was loaded.
    pub(crate) fn of(entries: &mut Entries) -> Self {
        let seen = match entries.put(KEY, None) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        };
        Self {
            seen,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, kind: String, message: Value) -> Result<(), Error> {
        if self.added.len() >= FLASHES_MAX {
            return Err(Error::script(format!(
                "a request leaves at most {FLASHES_MAX} messages for the next page"
            )));
        }
        self.added.push(Value::Map(vec![
            ("kind".to_owned(), Value::Text(kind)),
            ("message".to_owned(), message),
        ]));
        Ok(())
    }

    /// Those that earlier requests left. They are gone then, but for this request.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        self.is_taken = true;
        self.seen.clone()
    }

    pub(crate) fn remove_last(&mut self) {
        self.added.pop();
    }

    pub(crate) fn has_changed(&self) -> bool {
        !self.added.is_empty() || (self.is_taken && !self.seen.is_empty())
    }

    /// Whether there will be any for the next page, if nobody else changes them.
    pub(crate) fn has_new(&self) -> bool {
        !self.added.is_empty()
    }

    /// Forgets what the request did.
    pub(crate) fn restore(&mut self) {
        self.is_taken = false;
        self.added.clear();
    }

    /// All are gone, those of earlier requests too.
    pub(crate) fn clear(&mut self) {
        self.is_taken = true;
        self.added.clear();
    }

    /// Puts those that will be there for the next page among the entries that were loaded, if nobody else changes them.
    pub(crate) fn put_into(&self, entries: &mut Entries) {
        entries.put(KEY, Some(Value::List(self.seen.clone())));
        self.merge(entries);
    }

    /// Does to what is stored now what the request did to what it saw: another may have left or taken some meanwhile.
    pub(crate) fn merge(&self, stored: &mut Entries) {
        let mut all = list(stored);
        if self.is_taken {
            for seen in &self.seen {
                if let Some(at) = all.iter().position(|one| one == seen) {
                    all.remove(at);
                }
            }
        }
        all.extend(self.added.iter().cloned());
        let excess = all.len().saturating_sub(FLASHES_MAX);
        all.drain(..excess);
        let left = Some(all).filter(|all| !all.is_empty());
        stored.put(KEY, left.map(Value::List));
    }
}
