//! Messages for the next page: kept in the session under a key of their own.

use crate::entries::Entries;
use crate::limits::FLASHES_MAX;
use sampan_host::{Error, Value};

/// The key under which they are kept. Scripts do not see it.
pub(crate) const KEY: &str = "_flash";

/// Refuses that key to scripts.
pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    if key == KEY {
        let text = format!("the key {key:?} is the server's own: choose another one");
        return Err(Error::script(text));
    }
    Ok(())
}

/// The messages of one request.
#[derive(Default)]
pub(crate) struct Flashes {
    /// Those that earlier requests left.
    seen: Vec<Value>,
    is_taken: bool,
    /// True if they are gone from the store already, so that no other request gets them.
    is_removed: bool,
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

    /// Messages of earlier requests that are gone from the store already.
    pub(crate) fn removed(seen: Vec<Value>) -> Self {
        Self {
            seen,
            is_removed: true,
            ..Self::default()
        }
    }

    /// Takes all messages out of what is stored now.
    pub(crate) fn remove_all_from(stored: &mut Entries) -> Vec<Value> {
        Self::of(stored).seen
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

    /// Reports whether earlier requests left messages that this one has not looked at.
    pub(crate) fn has_unseen(&self) -> bool {
        !self.is_taken && !self.is_removed && !self.seen.is_empty()
    }

    /// Removes from what is stored now those messages that this request saw there; it keeps those that no other request
    /// has taken meanwhile.
    pub(crate) fn remove_from(&mut self, stored: &mut Entries) {
        let mut all = list(stored);
        self.seen
            .retain(|seen| match all.iter().position(|one| one == seen) {
                Some(at) => {
                    all.remove(at);
                    true
                }
                None => false,
            });
        self.is_removed = true;
        stored.put(
            KEY,
            Some(all).filter(|all| !all.is_empty()).map(Value::List),
        );
    }

    /// Puts messages back into what is stored now, before those that came meanwhile.
    pub(crate) fn put_back(messages: &[Value], stored: &mut Entries) {
        let mut all = list(stored);
        let missing = messages.iter().filter(|one| !all.contains(one));
        let missing: Vec<Value> = missing.cloned().collect();
        all.splice(0..0, missing);
        let excess = all.len().saturating_sub(FLASHES_MAX);
        all.drain(..excess);
        stored.put(KEY, Some(Value::List(all)));
    }

    /// Those that earlier requests left, and that this one has not lost to another.
    pub(crate) fn seen(&self) -> &[Value] {
        &self.seen
    }

    /// Leaves the messages of earlier requests to a later one.
    pub(crate) fn leave(&mut self) {
        self.seen.clear();
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
        // Taken and still stored, or removed and not taken.
        let is_open = self.is_taken != self.is_removed && !self.seen.is_empty();
        !self.added.is_empty() || is_open
    }

    /// Reports whether there will be any for the next page, if no other request changes them.
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

    /// Puts those that will be there for the next page among the entries that were loaded, if no other request changes
    /// them.
    pub(crate) fn put_into(&self, entries: &mut Entries) {
        let stored = if self.is_removed { &[][..] } else { &self.seen };
        entries.put(KEY, Some(Value::List(stored.to_vec())));
        self.merge(entries);
    }

    /// Does to what is stored now what the request did to what it saw: another may have left or taken some meanwhile.
    pub(crate) fn merge(&self, stored: &mut Entries) {
        let mut all = list(stored);
        if self.is_removed {
            if !self.is_taken {
                // The handler that took them has failed.
                all.splice(0..0, self.seen.iter().cloned());
            }
        } else if self.is_taken {
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
