//! The patience with a server: what is asked to stop because its caller has gone or its time is up, and a server that
//! does not answer at all.
//!
//! The server limits statements itself, by `statement_timeout`. This limit is for poolers, which refuse that setting,
//! and for a network that swallows messages. It counts ticks of one timer for each connection, so a statement sets no
//! timer of its own.

use super::exchange::{Ask, Exchange, Stake};
use super::state::ConnectionState;
use crate::error::Failure;
use sampan_host::LocalFuture;
use std::rc::Rc;
use std::time::Duration;

/// Ticks after which the first statement is asked to stop: its limit and a quarter more, so that the server's own limit
/// comes first.
const STOP_TICKS: u32 = 5;
/// Ticks after which the server is given up.
const DEAD_TICKS: u32 = 16;
const TICK_MIN: Duration = Duration::from_millis(10);

/// Asks the server to stop what it does for a connection, over another one.
pub(crate) type Canceller = Box<dyn Fn(u32, Vec<u8>) -> LocalFuture<()>>;

/// The limits of a connection, and what was asked to stop.
pub(crate) struct Patience {
    canceller: Canceller,
    /// 0 for no limit.
    statement_millis_max: u64,
    /// The server is being asked to stop something. Nothing else is sent meanwhile: it could be hit.
    is_cancelling: bool,
    /// The transaction has set a limit of its own.
    pub(super) is_unlimited: bool,
}

impl Patience {
    pub(crate) fn new(canceller: Canceller, statement_millis_max: u64) -> Self {
        Self {
            canceller,
            statement_millis_max,
            is_cancelling: false,
            is_unlimited: false,
        }
    }

    /// Returns the failure of a statement that was stopped because its time was up; `None` where only the statement's
    /// own script can have limited it.
    pub(super) fn late(&self) -> Option<Failure> {
        (self.statement_millis_max > 0).then_some(Failure::Late(self.statement_millis_max))
    }

    /// The time between two ticks; `None` without a limit.
    pub(super) fn tick(&self) -> Option<Duration> {
        let limit = Duration::from_millis(self.statement_millis_max);
        (!limit.is_zero()).then(|| (limit / 4).max(TICK_MIN))
    }
}

impl ConnectionState {
    /// Reports whether nothing may be sent now.
    pub(super) fn is_held(&self) -> bool {
        self.patience.is_cancelling
    }

    /// Takes note that a cancel request was passed on.
    pub(super) fn cancelled(&mut self) {
        self.patience.is_cancelling = false;
        self.wake();
    }

    /// Returns the future that asks the server to stop the first statement, if that is wanted.
    pub(super) fn due_cancel(&mut self) -> Option<LocalFuture<()>> {
        if self.patience.is_cancelling {
            return None;
        }
        let (first, _) = self.sent.front()?;
        let mut state = first.state.borrow_mut();
        if state.is_cancelled || !(state.is_abandoned || state.is_late) || !can_stop(first) {
            return None;
        }
        state.is_cancelled = true;
        drop(state);
        for (other, _) in self.sent.iter().skip(1) {
            other.state.borrow_mut().may_be_hit = true;
        }
        self.patience.is_cancelling = true;
        let server = &self.server;
        Some((self.patience.canceller)(
            server.process,
            server.key.clone(),
        ))
    }

    /// Counts a tick for the first statement. Returns the reason for which the connection is given up, if it is.
    pub(super) fn count_tick(&mut self) -> Option<String> {
        let (first, _) = self.sent.front()?;
        let patience = &self.patience;
        let is_unlimited = match first.ask {
            Ask::Script(_) | Ask::Copy { .. } => true,
            Ask::Describe(_) | Ask::Run(_) => patience.is_unlimited,
            // Its time is not that of the statements in it: without an answer the server is gone.
            Ask::Control(_) => false,
        };
        let mut state = first.state.borrow_mut();
        if is_unlimited && !state.is_cancelled {
            return None;
        }
        state.ticks += 1;
        if state.ticks >= DEAD_TICKS {
            let millis = 4 * self.patience.statement_millis_max;
            return Some(format!("the server did not answer for {millis} ms"));
        }
        state.is_late |= state.ticks >= STOP_TICKS;
        None
    }
}

/// Reports whether stopping it loses nothing that its caller could still want: a COMMIT goes on.
fn can_stop(exchange: &Rc<Exchange>) -> bool {
    match &exchange.ask {
        Ask::Run(_) => true,
        Ask::Script(_) | Ask::Copy { .. } => exchange.stake == Stake::Nothing,
        Ask::Describe(_) | Ask::Control(_) => false,
    }
}
