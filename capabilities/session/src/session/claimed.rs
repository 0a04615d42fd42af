//! Messages for the next page that a request has taken out of a session on a server. They go back if the request ends
//! without an answer, because its client has left.

use crate::entries::Entries;
use crate::flash::Flashes;
use crate::store::server::ServerSessions;
use crate::store::{Change, SessionKey, StoredSession};
use sampan_host::Value;
use std::cell::Cell;
use std::rc::Rc;
use tokio::runtime::Handle;
use tokio::task::spawn_local;

/// Messages that no other request gets. Dropped before the request has an answer, they are put back.
pub(super) struct ClaimedMessages {
    pub(super) messages: Vec<Value>,
    key: SessionKey,
    store: Rc<ServerSessions>,
    is_settled: Cell<bool>,
}

impl ClaimedMessages {
    pub(super) fn new(
        store: &Rc<ServerSessions>,
        key: SessionKey,
        messages: Vec<Value>,
    ) -> Rc<Self> {
        Rc::new(Self {
            messages,
            key,
            store: Rc::clone(store),
            is_settled: Cell::new(false),
        })
    }

    /// The request has an answer: its messages are shown there, or are back in the session.
    pub(super) fn settle(&self) {
        self.is_settled.set(true);
    }
}

impl Drop for ClaimedMessages {
    fn drop(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        // A worker that ends has no time left for it.
        if self.is_settled.get() || messages.is_empty() || Handle::try_current().is_err() {
            return;
        }
        let (store, key) = (Rc::clone(&self.store), self.key);
        drop(spawn_local(async move {
            let Ok(read) = store.load(&key).await else {
                return;
            };
            let put_back = store.change(key, read, |stored| {
                // A session that is gone needs no messages.
                let Some(StoredSession { data, began, ends }) = stored else {
                    return Ok(Change::Keep);
                };
                let mut entries = Entries::parse(&data);
                Flashes::put_back(&messages, &mut entries);
                let data = entries.text()?;
                Ok(Change::Put(key, StoredSession { data, began, ends }))
            });
            // No client is left that could be told of an error.
            let _ = put_back.await;
        }));
    }
}
