//! The right to send statements to a connection.

use super::Slot;
use crate::connection::exchange::Exchange;
use crate::connection::state::Connection;
use crate::error::Failure;
use std::ops::Deref;
use std::rc::Rc;

/// A connection for one use: of a transaction alone, or of one statement among others.
pub(crate) struct Access {
    connection: Rc<Connection>,
    /// The place of a connection that others use too. While a statement waits, such as for its types, a transaction may
    /// take it.
    shared: Option<Rc<Slot>>,
}

impl Access {
    /// Returns the access to a connection that no other has.
    pub(crate) fn own(connection: Rc<Connection>) -> Self {
        Self {
            connection,
            shared: None,
        }
    }

    /// Returns the access to a connection for one statement.
    pub(super) fn shared(slot: Rc<Slot>) -> Self {
        Self {
            connection: Rc::clone(&slot.connection),
            shared: Some(slot),
        }
    }

    /// Hands something over to be sent in this turn. Once a transaction has taken the connection, nothing is sent: it
    /// would be a part of that transaction.
    pub(crate) fn send(&self, exchange: &Rc<Exchange>) {
        match &self.shared {
            Some(slot) if slot.is_taken.get() => exchange.finish(Some(Failure::Taken)),
            _ => self.connection.send(exchange),
        }
    }
}

impl Deref for Access {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}
