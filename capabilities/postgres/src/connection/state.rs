//! A connection as its users and its task share it: what is under way, and what the server keeps of it.

use super::exchange::{Ask, Exchange, Gather, Stake};
use super::messages;
use super::patience::Patience;
use super::statement::Statement;
use crate::error::{Failure, ServerError};
use crate::limits::PIPELINED_READS;
use bytes::BytesMut;
use hashlink::LruCache;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use tokio::sync::Notify;

/// The properties of the server and its session, as it told them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerFacts {
    /// The version, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub(crate) version: String,
    /// True on a standby, and where transactions only read unless they say otherwise.
    pub(crate) is_read_only: bool,
    /// The process that serves the connection and the key with which it can be told to stop.
    pub(crate) process: u32,
    pub(crate) key: Vec<u8>,
}

impl ServerFacts {
    /// Takes note of a parameter's value.
    pub(super) fn note(&mut self, name: &str, value: &str) {
        match name {
            "server_version" => value.clone_into(&mut self.version),
            "in_hot_standby" | "default_transaction_read_only" => {
                self.is_read_only |= value == "on";
            }
            _ => {}
        }
    }
}

/// A connection, as those see it who use it. Dropping all of these ends it.
pub(crate) struct Connection(pub(super) Rc<RefCell<ConnectionState>>);

/// The state that the task of a connection shares with its users.
pub(crate) struct ConnectionState {
    /// Not written yet.
    pub(super) unsent: VecDeque<Rc<Exchange>>,
    /// Written, at least into the buffer, with the number of bytes that went before.
    pub(super) sent: VecDeque<(Rc<Exchange>, u64)>,
    /// The statements that the server has prepared, by number.
    prepared: LruCache<u64, ()>,
    /// Statements that were dropped from `prepared`, and that the server still has. They are closed with the next
    /// exchange: a message in the middle of one is skipped where that fails before.
    to_close: Vec<u64>,
    statements_max: usize,
    /// False where another connection of the server may get the next message.
    is_named: bool,
    /// The state of the transaction: `I` for none, `T` for one that is open, `E` for one that failed.
    pub(super) status: u8,
    /// The error with which the server ends the connection.
    pub(super) fatal: Option<ServerError>,
    pub(super) server: ServerFacts,
    pub(super) patience: Patience,
    /// The reason for which it has ended.
    ended: Option<String>,
    pub(super) is_closing: bool,
    pub(super) waker: Option<Waker>,
    /// Set on a connection of its own, whose owner waits for notifications.
    listener: Option<Listener>,
}

/// The owner of a connection, who waits for notifications.
struct Listener {
    /// Rings when a notification has come, and when the connection has ended.
    bell: Arc<Notify>,
    /// A notification has come since its owner asked last.
    has_heard: bool,
}

impl Connection {
    /// Hands something over to be sent in this turn.
    pub(crate) fn send(&self, exchange: &Rc<Exchange>) {
        let mut state = self.0.borrow_mut();
        if let Some(why) = &state.ended {
            let failure = Failure::NotSent(why.clone());
            drop(state);
            return exchange.finish(Some(failure));
        }
        state.unsent.push_back(Rc::clone(exchange));
        state.wake();
    }

    /// Takes note that the caller of an exchange has gone. What was not written yet is not written at all.
    pub(crate) fn abandon(&self, exchange: &Exchange) {
        exchange.state.borrow_mut().is_abandoned = true;
        self.0.borrow_mut().wake();
    }

    /// The number of exchanges that are under way.
    pub(crate) fn load(&self) -> usize {
        let state = self.0.borrow();
        state.unsent.len() + state.sent.len()
    }

    /// Reports whether statements that read are about to be sent, and one more can go with them.
    pub(crate) fn gathers_reads(&self) -> bool {
        let state = self.0.borrow();
        let has_room = state.unsent.len() + state.sent.len() < PIPELINED_READS;
        let mut stakes = state.unsent.iter().map(|exchange| exchange.stake);
        has_room && !state.unsent.is_empty() && stakes.all(|stake| stake == Stake::Nothing)
    }

    /// Reports whether the connection can take no more.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.0.borrow();
        state.ended.is_some() || state.is_closing || state.fatal.is_some()
    }

    /// The state of the transaction: `I` for none, `T` for one that is open, `E` for one that failed.
    pub(crate) fn status(&self) -> u8 {
        self.0.borrow().status
    }

    /// Lifts the limit of statements, or sets it again: a transaction may set its own.
    pub(crate) fn set_unlimited(&self, is_unlimited: bool) {
        self.0.borrow_mut().patience.is_unlimited = is_unlimited;
    }

    /// Rings from now on when a notification comes, and when the connection ends.
    pub(crate) fn listen(&self, bell: Arc<Notify>) {
        self.0.borrow_mut().listener = Some(Listener {
            bell,
            has_heard: false,
        });
    }

    /// Reports whether a notification has come since this was asked last.
    pub(crate) fn take_heard(&self) -> bool {
        let mut state = self.0.borrow_mut();
        let listener = state.listener.as_mut();
        listener.is_some_and(|listener| std::mem::take(&mut listener.has_heard))
    }

    /// Ends the connection once everything under way is answered.
    pub(crate) fn close(&self) {
        let mut state = self.0.borrow_mut();
        state.is_closing = true;
        state.wake();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

impl ConnectionState {
    pub(crate) fn new(
        server: ServerFacts,
        patience: Patience,
        statements_max: usize,
        is_named: bool,
    ) -> Self {
        Self {
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
            prepared: LruCache::new_unbounded(),
            to_close: Vec::new(),
            statements_max,
            is_named,
            status: b'I',
            fatal: None,
            server,
            patience,
            ended: None,
            is_closing: false,
            waker: None,
            listener: None,
        }
    }

    /// Takes note of a notification.
    pub(super) fn heard(&mut self) {
        if let Some(listener) = &mut self.listener {
            listener.has_heard = true;
            listener.bell.notify_one();
        }
    }

    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Writes the messages of an exchange.
    pub(super) fn encode(&mut self, exchange: &Exchange, out: &mut BytesMut) {
        if matches!(exchange.ask, Ask::Describe(_) | Ask::Run(_)) {
            for old in self.to_close.drain(..) {
                messages::close_statement(out, old);
            }
        }
        let parsing = &mut exchange.state.borrow_mut().parsing;
        match &exchange.ask {
            Ask::Describe(statements) => {
                for statement in statements {
                    let (id, _) = self.prepare(statement, &[], parsing, out);
                    messages::describe_statement(out, id);
                }
            }
            Ask::Run(steps) => {
                for step in steps {
                    let types = &step.shape.params;
                    let (id, is_new) = self.prepare(&step.statement, types, parsing, out);
                    messages::bind(out, id, step);
                    if is_new {
                        messages::describe_portal(out);
                    }
                    let first_only = matches!(
                        step.gather,
                        Gather::Rows {
                            first_only: true,
                            ..
                        }
                    );
                    messages::execute(out, u32::from(first_only));
                }
            }
            Ask::Script(sql) | Ask::Control(sql) => return messages::query(out, sql),
            Ask::Copy { sql, lines } => {
                messages::query(out, sql);
                return messages::copy_data(out, lines);
            }
        }
        messages::sync(out);
    }

    /// Writes the message that prepares a statement, unless it is prepared. Returns its number there, and true if it
    /// was written.
    fn prepare(
        &mut self,
        statement: &Statement,
        types: &[u32],
        parsing: &mut VecDeque<u64>,
        out: &mut BytesMut,
    ) -> (Option<u64>, bool) {
        if !self.is_named || !statement.is_kept {
            messages::parse(out, None, &statement.sql.text, types);
            return (None, true);
        }
        let id = statement.id;
        if self.prepared.get(&id).is_some() {
            return (Some(id), false);
        }
        self.prepared.insert(id, ());
        if self.prepared.len() > self.statements_max
            && let Some((old, ())) = self.prepared.remove_lru()
        {
            self.to_close.push(old);
        }
        if let Some(at) = self.to_close.iter().position(|&old| old == id) {
            self.to_close.swap_remove(at);
            return (Some(id), false);
        }
        parsing.push_back(id);
        messages::parse(out, Some(id), &statement.sql.text, types);
        (Some(id), true)
    }

    /// Forgets the statements of an exchange that the server did not come to prepare, because it failed before.
    pub(super) fn forget(&mut self, exchange: &Exchange) {
        for id in exchange.state.borrow_mut().parsing.drain(..) {
            self.prepared.remove(&id);
        }
    }

    /// Ends everything that is under way.
    pub(super) fn end(&mut self, why: &str, written: u64) -> Vec<(Rc<Exchange>, Failure)> {
        let why = match (&self.ended, self.fatal.take()) {
            (Some(before), _) => before.clone(),
            (None, Some(fatal)) => fatal.words(),
            (None, None) => why.to_owned(),
        };
        self.ended = Some(why.clone());
        if let Some(listener) = &self.listener {
            listener.bell.notify_one();
        }
        let sent = self.sent.drain(..).map(|(exchange, before)| {
            let failure = match exchange.stake {
                _ if written <= before => Failure::NotSent(why.clone()),
                Stake::Commit => Failure::Unknown(why.clone()),
                Stake::Nothing => Failure::Lost(why.clone()),
            };
            (exchange, failure)
        });
        let mut ends: Vec<_> = sent.collect();
        let unsent = self.unsent.drain(..);
        ends.extend(unsent.map(|exchange| (exchange, Failure::NotSent(why.clone()))));
        ends
    }
}
