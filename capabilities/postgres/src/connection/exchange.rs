//! Messages to the server up to one `Sync`, and their answers.

use super::statement::{Columns, Shape, Statement};
use crate::error::Failure;
use crate::sql::Sql;
use crate::types::oids::Oid;
use crate::types::read::CellForms;
use bytes::Bytes;
use sampan_host::Rows;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// One statement with its parameters.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) statement: Rc<Statement>,
    pub(crate) shape: Rc<Shape>,
    /// The part of `Bind` with the parameters.
    pub(crate) params: Bytes,
    pub(crate) gather: Gather,
}

/// The part of a result that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gather {
    /// The rows, at most so many bytes of them.
    Rows {
        first_only: bool,
        bytes_max: usize,
        forms: CellForms,
    },
    /// The integer in this column of the last row, if there is one.
    Last(Option<usize>),
}

/// A message or several.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Describes statements.
    Describe(Vec<Rc<Statement>>),
    /// Runs statements, as one transaction where none is open.
    Run(Vec<Step>),
    /// Runs a text of statements without parameters, which may last. Rows are dropped.
    Script(String),
    /// Begins or ends a transaction or a savepoint, or cleans a connection: the server answers soon.
    Control(String),
    /// Runs a `COPY ... FROM STDIN`, with the lines that it reads.
    Copy { sql: String, lines: Bytes },
}

/// The loss if the connection ends before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stake {
    /// No loss: it reads, or its transaction is not committed by it.
    Nothing,
    /// A commit: without an answer it is not known whether it happened.
    Commit,
}

impl Stake {
    /// The stake of a statement outside of a transaction.
    pub(crate) fn of(sql: &Sql) -> Self {
        match sql.only_reads() {
            true => Self::Nothing,
            false => Self::Commit,
        }
    }
}

/// The result of a statement.
#[derive(Debug, Default)]
pub(crate) struct StepDone {
    pub(crate) rows: Option<Rows>,
    /// The rows that it changed.
    pub(crate) changes: i64,
    pub(crate) last: Option<i64>,
}

/// The types of a statement, as the server described it.
pub(crate) type Described = (Vec<Oid>, Rc<Columns>);

/// Messages to the server up to one `Sync`, and the answers so far.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) ask: Ask,
    pub(crate) stake: Stake,
    pub(crate) state: RefCell<ExchangeState>,
}

#[derive(Debug, Default)]
pub(crate) struct ExchangeState {
    /// The statement whose answers come now.
    pub(crate) at: usize,
    pub(crate) done: Vec<StepDone>,
    pub(crate) described: Vec<Described>,
    /// The statements that are being prepared, by number.
    pub(crate) parsing: VecDeque<u64>,
    /// The types of the parameters of a statement whose columns have not come yet.
    pub(crate) params: Vec<Oid>,
    /// The columns of the result that comes now, where they were described with it.
    pub(crate) columns: Option<Rc<Columns>>,
    pub(crate) current: StepDone,
    /// The words behind the end of the last statement: `INSERT 0 1`.
    pub(crate) tag: String,
    pub(crate) failure: Option<Failure>,
    pub(crate) is_over: bool,
    /// The caller has gone.
    pub(crate) is_abandoned: bool,
    /// The time is up.
    pub(crate) is_late: bool,
    /// The server was asked to stop it.
    pub(crate) is_cancelled: bool,
    /// The server was asked to stop another, and may have stopped this one.
    pub(crate) may_be_hit: bool,
    /// The number of ticks for which it has been the first.
    pub(crate) ticks: u32,
    pub(crate) waker: Option<Waker>,
}

impl Exchange {
    pub(crate) fn new(ask: Ask, stake: Stake) -> Rc<Self> {
        Rc::new(Self {
            ask,
            stake,
            state: RefCell::default(),
        })
    }

    /// Waits until the server has answered all of it.
    pub(crate) async fn over(&self) -> Result<(), Failure> {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if state.is_over {
                return Poll::Ready(());
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await;
        match self.state.borrow_mut().failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Ends it; the first failure counts.
    pub(crate) fn finish(&self, failure: Option<Failure>) {
        let mut state = self.state.borrow_mut();
        if state.failure.is_none() {
            state.failure = failure;
        }
        state.is_over = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
