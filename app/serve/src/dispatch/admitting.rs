//! A request whose script may have to wait for its turn.

use crate::admission::client::Client;
use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use crate::gate::control::Control;
use crate::request::route_info::client;
use crate::routing::wrapping::SharedGuard;
use sampan_host::Error;
use sampan_host::log::{Cause, Entry, Level};
use sampan_host::metrics::known;
use sampan_http::{Answer, Request, Response};
use std::future::poll_fn;
use std::pin::pin;

/// The time after which a client should ask again, in seconds.
const RETRY_SECONDS: &[u8] = b"1";

/// Reports whether a request has to wait, see [`wait`].
#[inline]
pub(crate) fn has_to_wait(control: &Control, has_priority: bool) -> bool {
    let admission = control.admission.as_ref();
    admission.is_some_and(|admission| !has_priority && !admission.passes())
}

/// Returns the client whose turns a request takes: by the key of the first guard that counts by a header field which
/// the request has, else by its address.
pub(crate) fn client_of(request: &Request, guards: &[SharedGuard], control: &Control) -> Client {
    let counted = guards.iter().find_map(|guard| {
        let name = guard.guard.counted_field()?;
        Some(Client::of_field(name, request.header(name)?))
    });
    counted.unwrap_or_else(|| Client::of(client(request, &control.trusted)))
}

/// Goes on with a request when it is its client's turn. `leave` answers it elsewhere, if its route has moved meanwhile:
/// how long it has waited here does not count then.
#[cold]
pub(crate) fn wait(
    exchange: DispatchedRequest,
    client: Client,
    leave: impl FnOnce(&DispatchedRequest) -> Option<Answer> + 'static,
    run: impl FnOnce(DispatchedRequest) -> Answer + 'static,
) -> Answer {
    let control = &exchange.loaded.control;
    let Some(admission) = &control.admission else {
        return run(exchange);
    };
    let turn = admission.wait(client);
    Answer::Later(Box::pin(async move {
        let may_begin = turn.await;
        if let Some(answer) = leave(&exchange) {
            return answer;
        }
        match may_begin {
            true => run(exchange),
            false => {
                let (control, request) = (&exchange.loaded.control, exchange.view.request());
                Answer::Now(refuse(control, request, "target_millis"))
            }
        }
    }))
}

impl DispatchedRequest {
    /// Waits until the script may run, and takes note of the time. Mostly there is nothing to wait for.
    pub(super) async fn acquire(&self) -> Result<(), Error> {
        let control = &self.loaded.control;
        let mut acquiring = pin!(control.gate.acquire(self.route()));
        let mut begun = None;
        let acquired = poll_fn(|cx| {
            let polled = acquiring.as_mut().poll(cx);
            if polled.is_pending() && begun.is_none() {
                begun = control.current.begin();
            }
            polled
        })
        .await;
        if let (Some(record), Some(begun)) = (self.view.record(), begun) {
            record.add_db(begun.elapsed());
        }
        acquired
    }
}

/// The answer to a request that has waited for longer than a key of `[overload]` says.
pub(crate) fn refuse(control: &Control, request: &Request, key: &str) -> Response {
    if let Some(meters) = &control.meters {
        meters.count(&known::REFUSALS, "overload");
    }
    let text = format!(
        "a request was answered 503: requests come faster than the scripts answer, and have waited longer than \
         [overload] {key}"
    );
    let cause = Cause::place("overload");
    control
        .logger
        .write_limited(Level::Warn, cause, &Entry::text(text));
    let mut response = errors::refusal(503, None, Some(request));
    let _ = response.header(b"Retry-After", RETRY_SECONDS);
    response
}
