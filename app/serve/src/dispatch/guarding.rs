//! A request before any script runs for it: its guards, and what is read from a server for its handler.

use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use crate::gate::control;
use crate::request::kept_answer;
use crate::routing::wrapping::{DeclaredGuard, SharedGuard};
use sampan_host::log::{Cause, Level};
use sampan_host::metrics::known;
use sampan_host::trace::OpenSpan;
use sampan_host::{
    Error, ErrorKind, GuardDecision, GuardStep, HandlerId, LocalFuture, RequestView, answer,
};
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{Answer, Response};
use std::borrow::Cow;
use std::future::poll_fn;
use std::rc::Rc;

/// The way of a request behind its guards.
pub(crate) enum Way<'a> {
    /// The answer of the route with this index, which is a value.
    Fixed(usize),
    /// The end of the chain within this middleware.
    Chain(Cow<'a, [HandlerId]>),
    /// The end of the chain, which may need no script.
    ChainOrNone(Cow<'a, [HandlerId]>),
    /// The error that its body is.
    Refuse(Box<Fault>),
}

impl Way<'_> {
    pub(crate) fn into_owned(self) -> Way<'static> {
        match self {
            Self::Fixed(index) => Way::Fixed(index),
            Self::Chain(chain) => Way::Chain(chain.into_owned().into()),
            Self::ChainOrNone(chain) => Way::ChainOrNone(chain.into_owned().into()),
            Self::Refuse(fault) => Way::Refuse(fault),
        }
    }
}

/// Ends the span of a guard that refuses a request.
fn end_refused(span: Option<OpenSpan>, error: &Error) {
    if let Some(mut span) = span {
        let status = error.kind().status().to_string();
        span.add(vec![("error.type".into(), status.into())]);
    }
}

/// Returns the answer of a guard; `None` where the request goes on.
fn response_of(step: GuardStep) -> Option<Response> {
    match step {
        GuardStep::Pass => None,
        GuardStep::Answer(status) => Some(Response::new(status)),
        GuardStep::Whole(answer) => Some(kept_answer::response_of(&answer)),
    }
}

impl DispatchedRequest {
    /// Asks the guards of the path, in their order, and goes on if they all pass the request.
    #[inline]
    pub(crate) fn check(self, guards: &[SharedGuard], way: Way<'_>) -> Answer {
        let trace = match (guards, &self.loaded.control.tracer) {
            ([], _) | (_, None) => None,
            _ => self.recorded(),
        };
        for (at, DeclaredGuard { guard, step }) in guards.iter().map(|guard| &**guard).enumerate() {
            let span = trace.as_ref().map(|trace| step.open(trace));
            if let Some(asking) = guard.ask(&*self.view) {
                let rest = guards[at + 1..].to_vec();
                return self.check_later((asking, span), rest, way.into_owned());
            }
            match guard.check(&*self.view) {
                Ok(step) => {
                    if let Some(response) = response_of(step) {
                        return self.answer_natively(response);
                    }
                }
                Err(error) => {
                    end_refused(span, &error);
                    return self.refuse(error);
                }
            }
        }
        self.follow(way)
    }

    #[inline]
    fn follow(self, way: Way<'_>) -> Answer {
        match way {
            Way::Chain(chain) => self.answer(&chain),
            Way::ChainOrNone(chain) => self.answer_or_complete(&chain),
            Way::Refuse(fault) => self.refuse_body(*fault),
            Way::Fixed(index) => match &Rc::clone(&self.loaded).entries[index].fixed {
                Some(fixed) => self.answer_fixed(fixed),
                None => self.answer(&[]),
            },
        }
    }

    /// Waits for the decision of a guard, and asks the rest of them.
    fn check_later(
        self,
        (mut asking, span): (LocalFuture<GuardDecision>, Option<OpenSpan>),
        rest: Vec<SharedGuard>,
        way: Way<'static>,
    ) -> Answer {
        Answer::Later(Box::pin(async move {
            let decide = self.during(&mut asking).await;
            match decide(&*self.view) {
                Ok(step) => {
                    drop(span);
                    match response_of(step) {
                        None => self.check(&rest, way),
                        Some(response) => self.answer_natively(response),
                    }
                }
                Err(error) => {
                    end_refused(span, &error);
                    self.refuse(error)
                }
            }
        }))
    }

    /// Waits in the name of the request.
    async fn during<T>(&self, wait: &mut LocalFuture<T>) -> T {
        let control = &self.loaded.control;
        poll_fn(|cx| control.during(Some(&self.view), || wait.as_mut().poll(cx))).await
    }

    /// The answer to what a guard refuses, as to an error of a handler.
    #[cold]
    pub(crate) fn refuse(self, error: Error) -> Answer {
        self.loaded.control.logger.refusal(&*self.view, &error);
        if self.loaded.on_error.is_none() {
            self.log(&error);
            return self.answer_natively(self.view.answer_to(&error));
        }
        let failed = move |exchange: Self| {
            let visit = exchange.loaded.control.gate.visit();
            exchange.failed(&error, visit)
        };
        if let Some(preparing) = self.preparing() {
            return self.when_prepared(preparing, failed);
        }
        if self.loaded.control.gate.try_acquire(self.route()) {
            return failed(self);
        }
        self.when_acquired(failed)
    }

    /// The answer to a body that is refused.
    #[cold]
    fn refuse_body(self, fault: Fault) -> Answer {
        let Fault { status, limit, .. } = fault;
        let text = match limit {
            Some(limit) => errors::above(status, limit),
            None => answer::label(status).to_owned(),
        };
        if let Some(Exceeded { name, max }) = limit {
            let control = &self.loaded.control;
            if let Some(meters) = &control.meters {
                meters.count(&known::REFUSALS, name);
            }
            let title = self.view.title();
            let told = format!("{title}: answered {status}: the request is above {name} ({max})");
            let cause = (Level::Info, Cause::place(name));
            control::tell(control, &self.view, cause, told);
        }
        self.refuse(Error::new(ErrorKind::Status(status), text))
    }

    /// Returns what has to be read before a script runs for this request, if there is anything.
    pub(super) fn preparing(&self) -> Option<LocalFuture<()>> {
        let preparation = self.loaded.preparation.as_ref()?;
        let request = Rc::clone(&self.view) as Rc<dyn RequestView>;
        let route = self.uses.of(self.only_reads());
        preparation.before_handler(&request, route)
    }

    /// Runs a script when what it needs has been read.
    pub(super) fn when_prepared(
        self,
        mut preparing: LocalFuture<()>,
        run: impl FnOnce(Self) -> Answer + 'static,
    ) -> Answer {
        Answer::Later(Box::pin(async move {
            self.during(&mut preparing).await;
            match self.loaded.control.gate.try_acquire(self.route()) {
                true => run(self),
                false => self.when_acquired(run),
            }
        }))
    }
}
