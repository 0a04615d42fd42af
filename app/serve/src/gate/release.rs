//! The answer of a request, held while anything is not committed that it may depend on.

use crate::answer::errors;
use crate::gate::commit_gate::{Gate, Visit};
use crate::gate::control::{self, Control};
use crate::request::kept_answer;
use crate::request::request_view::View;
use sampan_host::metrics::known;
use sampan_host::trace::{Attributes, SpanKind};
use sampan_host::{Error, ErrorKind, Fate, LocalFuture, Outbox, Verdict};
use sampan_http::{Answer, Body, Response, Ticket};
use std::cell::Cell;
use std::rc::Rc;

/// Waits for the verdict on writes that are not committed; an error if one of them is lost.
pub(super) type Settling = LocalFuture<Result<(), Error>>;

impl Visit {
    /// The answer of the request: held while anything is not committed that it may depend on.
    #[inline]
    pub(crate) fn release(
        &self,
        response: Response,
        view: &Rc<View>,
        control: &Rc<Control>,
    ) -> Answer {
        match self.gate.transactions_behind(view) {
            Ok(transactions) if self.gate.db.losses() == self.losses => {
                if !transactions.is_empty() && matches!(response.body(), Body::Stream(_)) {
                    return self.release_begun(&transactions, response, view, control);
                }
                self.release_behind(transactions, response, view, control)
            }
            _ => self.answer_lost(&self.gate.lost(), view, control),
        }
    }

    /// The answer to a request whose writes are lost.
    #[cold]
    pub(super) fn answer_lost(
        &self,
        lost: &Error,
        view: &Rc<View>,
        control: &Rc<Control>,
    ) -> Answer {
        control::log(control, Some(view), "", lost);
        view.failed(lost);
        let mut response = errors::answer_to(lost, view.request(), None);
        view.tell_id(&mut response);
        Answer::Now(response)
    }

    /// Completes the answer. It is held until these transactions and the open group are committed.
    #[inline]
    pub(super) fn release_behind(
        &self,
        transactions: Vec<Outbox>,
        mut response: Response,
        view: &Rc<View>,
        control: &Rc<Control>,
    ) -> Answer {
        if let Some(answer) = view.additions.replayed() {
            response = kept_answer::response_of(&answer);
        }
        let mut keep = view.kept_answer(&response);
        if let Err(error) = view.additions.complete(&mut response) {
            keep = None;
            control::log(control, Some(view), "", &error);
            response = view.answer_to(&error);
        }
        view.tell_id(&mut response);
        view.compress(&mut response);
        if transactions.is_empty() && !self.gate.outbox.is_open() {
            if let Some(keep) = keep {
                keep();
            }
            return Answer::Now(response);
        }
        let (ticket, seal) = Ticket::new();
        // The request itself goes back to its pool now, and is not kept until the commit.
        let (remains, control, begun) =
            (view.remains(), Rc::clone(control), control.current.begin());
        let held = control.meters.as_ref().map(|meters| meters.held());
        let behind: Vec<Fate> = transactions.iter().filter_map(Outbox::fate).collect();
        let ticket = match behind.is_empty() {
            true => ticket,
            false => or_cause(&control, ticket, behind.clone()),
        };
        let told = move |verdict| {
            drop(held);
            if let (Some(record), Some(begun)) = (remains.record(), begun) {
                record.add_db(begun.elapsed());
                if let Some(trace) = record.trace() {
                    trace.add("commit", SpanKind::Internal, begun, Attributes::new());
                }
            }
            match verdict {
                Verdict::Committed => {
                    if let Some(keep) = keep {
                        keep();
                    }
                    seal.release();
                }
                Verdict::Failed => {
                    let lost = control.gate.lost_answer(&behind);
                    remains.log(&*control.logger, &lost);
                    seal.replace_by(lost.kind().status());
                }
            }
        };
        if transactions.is_empty() {
            self.gate.outbox.hold(Box::new(told));
        } else {
            hold_in_all(&transactions, told);
        }
        Answer::Held(response, ticket)
    }

    /// Returns the outcomes of the transactions that are open and that the answer of the request depends on.
    pub(crate) fn fates_behind(&self, view: &Rc<View>) -> Vec<Fate> {
        let open = self.gate.transactions_behind(view).unwrap_or_default();
        open.iter().filter_map(Outbox::fate).collect()
    }

    /// Returns a future for the commit of all that the request has written or seen so far: in transactions, and in the
    /// open group. `None` if nothing is open.
    ///
    /// # Errors
    /// A transaction that the request has used was rolled back.
    pub(super) fn settling(&self, view: Option<&Rc<View>>) -> Result<Option<Settling>, Error> {
        let mut open = match view {
            Some(view) => self.gate.transactions_behind(view)?,
            None => Vec::new(),
        };
        open.push(self.gate.outbox.clone());
        open.retain(Outbox::is_open);
        if open.is_empty() {
            return Ok(None);
        }
        // Each waits for the group that is open now, not for those that the outbox is opened for later.
        let verdicts: Vec<_> = open.iter().map(Outbox::settled).collect();
        let gate = Rc::clone(&self.gate);
        Ok(Some(Box::pin(async move {
            for verdict in verdicts {
                if verdict.await == Verdict::Failed {
                    return Err(gate.lost());
                }
            }
            Ok(())
        })))
    }
}

/// Has the answer to the cause sent in the place of a held one, where one of `behind` fails.
#[cold]
fn or_cause(control: &Rc<Control>, ticket: Ticket, behind: Vec<Fate>) -> Ticket {
    let control = Rc::clone(control);
    ticket.or_else(move || {
        let lost = control.gate.lost_answer(&behind);
        if let Some(meters) = &control.meters {
            meters.count(&known::REFUSALS, &lost.kind().status().to_string());
        }
        errors::late_answer(&lost)
    })
}

impl Gate {
    /// Returns the error of a held answer whose writes are lost: with the likely reason, if it depended on transactions
    /// that were open when the handler had returned, and with the kind and the code of the cause, where it is known.
    #[cold]
    pub(crate) fn lost_answer(&self, behind: &[Fate]) -> Error {
        let lost = self.lost();
        if behind.is_empty() || lost.kind() != ErrorKind::Internal {
            return lost;
        }
        let mut text = format!(
            "{}: a db.transaction that the answer depends on failed after the handler had returned: is await missing \
             in front of it?",
            lost.message()
        );
        match behind.iter().find_map(Fate::cause) {
            Some(cause) => {
                text.push_str(&format!(" ({})", cause.message()));
                cause.with_message(text)
            }
            None => lost.with_message(text),
        }
    }
}

/// Notifies once: that one of several groups of writes has failed, or that the last is committed.
fn hold_in_all(outboxes: &[Outbox], told: impl FnOnce(Verdict) + 'static) {
    let told = Rc::new(Cell::new(Some(told)));
    let left = Rc::new(Cell::new(outboxes.len()));
    for outbox in outboxes {
        let (told, left) = (Rc::clone(&told), Rc::clone(&left));
        outbox.hold(Box::new(move |verdict| {
            left.set(left.get() - 1);
            if (verdict == Verdict::Failed || left.get() == 0)
                && let Some(told) = told.take()
            {
                told(verdict);
            }
        }));
    }
}
