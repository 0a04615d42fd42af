//! The connection's end: hands a request of a slow route over, and takes the answer.

use crate::admission::client::Client;
use crate::answer::errors;
use crate::dispatch::admitting;
use crate::dispatch::loaded::{Loaded, RouteEntry};
use crate::gate::control::{Control, log};
use crate::lane::crossing::{LaneMessage, LaneRefusal, LaneRequest, LaneTiming, OwnedAnswer};
use crate::lane::link::LaneLink;
use crate::lane::route_lane::RouteLane;
use crate::request::record::Record;
use crate::request::route_info::RouteInfo;
use crate::request::times::RecordedTimes;
use sampan_host::log::{Cause, Entry, Level};
use sampan_host::metrics::known;
use sampan_host::{Error, ErrorKind};
use sampan_http::codec::Exceeded;
use sampan_http::websocket;
use sampan_http::{Answer, BodyError, BodyStream, Chunk, Method, Request, Response, WorkerMoment};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::Receiver;

/// The time after which a client should ask again when the lane is full, in seconds.
const RETRY_SECONDS: &[u8] = b"1";

/// Hands a request over, if its route runs in the slow lane. `None`: it runs on its own worker.
#[inline]
pub(crate) fn hand_over(
    loaded: &Rc<Loaded>,
    entry: &RouteEntry,
    (request, normal): (&Rc<Request>, &str),
    record: Option<&Rc<Record>>,
) -> Option<Answer> {
    let route = entry.info.lane.as_ref()?;
    if !route.is_apart() {
        return None;
    }
    let turn = || {
        let host = || loaded.host_of(request);
        let guards = &loaded.guards;
        let guards = guards.of_route(&entry.guards, request.method(), host, normal);
        let client = admitting::client_of(request, &guards, &loaded.control);
        (client, entry.has_priority)
    };
    hand_over_slow(loaded, (&entry.info, route), request, turn, record)
}

/// Hands a request of the module's `fetch` over, if the requests that share `info` run in the slow lane. `None`: it
/// runs on its own worker.
pub(crate) fn hand_over_fetch(
    loaded: &Rc<Loaded>,
    info: &Rc<RouteInfo>,
    (request, normal): (&Rc<Request>, &str),
    record: Option<&Rc<Record>>,
) -> Option<Answer> {
    let route = info.lane.as_ref()?;
    if !route.is_apart() {
        return None;
    }
    let turn = || {
        let host = loaded.host_of(request);
        let guards = &loaded.guards;
        let guards = guards.of_path(request.method(), host.as_deref(), normal);
        let client = admitting::client_of(request, &guards, &loaded.control);
        (client, false)
    };
    hand_over_slow(loaded, (info, route), request, turn, record)
}

#[cold]
fn hand_over_slow(
    loaded: &Rc<Loaded>,
    (info, route): (&Rc<RouteInfo>, &Arc<RouteLane>),
    request: &Rc<Request>,
    turn: impl FnOnce() -> (Client, bool),
    record: Option<&Rc<Record>>,
) -> Option<Answer> {
    let control = &loaded.control;
    let lane = control.lane.as_ref().filter(|lane| lane.is_open())?;
    if may_become_socket(request) {
        return None;
    }
    // A body that is read as it comes arrives at its connection's worker.
    let owned = request.to_owned_request()?;
    let (given, receiver, link) = {
        let only_reads = matches!(request.method(), Method::Get | Method::Head);
        let timing = record.map(|record| LaneTiming {
            arrived: record.take_arrival(),
            id: record.id().map(Into::into),
            trace: record.trace().map(|trace| trace.as_parent()),
        });
        LaneRequest::new(owned, route, turn(), only_reads, timing)
    };
    if let Some(record) = record {
        record.set_route(info);
    }
    lane.submit(given);
    Some(Answer::Later(Box::pin(HandedOver {
        answers: Answers {
            receiver,
            link,
            record: record.cloned(),
        },
        request: Rc::clone(request),
        control: Rc::clone(control),
        is_answered: false,
    })))
}

/// Reports whether a handler may accept a socket for this request. A socket is an object of its connection's worker.
fn may_become_socket(request: &Request) -> bool {
    let field = |name: &str| request.joined_header(name);
    request.is_extended_connect()
        || request.method() == Method::Get && websocket::check_handshake(field).is_ok()
}

/// The answer to a request for which the lane has no room.
fn full(control: &Control, request: &Request) -> Response {
    if let Some(meters) = &control.meters {
        meters.count(&known::REFUSALS, "overload");
    }
    let text =
        "a request was answered 503: too many requests wait for the slow lane ([workers] slow)";
    let entry = Entry::text(text.to_owned());
    let cause = Cause::place("the slow lane is full");
    control.logger.write_limited(Level::Warn, cause, &entry);
    let mut response = errors::refusal(503, None, Some(request));
    let _ = response.header(b"Retry-After", RETRY_SECONDS);
    response
}

/// The messages of a request's answer.
struct Answers {
    receiver: Receiver<LaneMessage>,
    link: Arc<LaneLink>,
    record: Option<Rc<Record>>,
}

impl Answers {
    /// The next message; `None` if no more come.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<LaneMessage>> {
        match self.link.poll_lost(cx) {
            true => Poll::Ready(None),
            false => self.receiver.poll_recv(cx),
        }
    }

    fn add(&self, times: RecordedTimes) {
        if let Some(record) = &self.record {
            record.add_times(times);
        }
    }
}

/// A request that was handed over. Dropped before it has an answer, it is given up.
struct HandedOver {
    answers: Answers,
    request: Rc<Request>,
    control: Rc<Control>,
    is_answered: bool,
}

impl Future for HandedOver {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        loop {
            let (answer, times) = match ready!(self.answers.poll(cx)) {
                Some(LaneMessage::Hints(lines)) => {
                    self.request.add_early_hints(&lines);
                    // They leave while it waits, so it does once more.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(LaneMessage::Answer(answer, times)) => (answer, times),
                Some(LaneMessage::Refused(refusal)) => {
                    self.is_answered = true;
                    return Poll::Ready(Answer::Now(self.refused(refusal)));
                }
                Some(LaneMessage::Chunk(_) | LaneMessage::End(..)) => continue,
                None => {
                    self.is_answered = true;
                    let response = errors::refusal(503, None, Some(&self.request));
                    return Poll::Ready(Answer::Now(response));
                }
            };
            self.is_answered = true;
            self.answers.add(times);
            return Poll::Ready(match answer {
                OwnedAnswer::Precomputed(response) => Answer::Precomputed(response),
                OwnedAnswer::Whole(response) => Answer::Now(response.into_response(None)),
                OwnedAnswer::Streamed(response) => {
                    let stream = self.take_stream();
                    Answer::Now(response.into_response(Some(Box::new(stream))))
                }
            });
        }
    }
}

impl HandedOver {
    fn refused(&self, refusal: LaneRefusal) -> Response {
        match refusal {
            LaneRefusal::Full => full(&self.control, &self.request),
            LaneRefusal::Overload => {
                admitting::refuse(&self.control, &self.request, "slow_target_millis")
            }
        }
    }

    /// Returns the stream of the answer, whose messages are those to come.
    fn take_stream(&mut self) -> LaneStream {
        let (_, closed) = tokio::sync::mpsc::channel(1);
        LaneStream(Answers {
            receiver: std::mem::replace(&mut self.answers.receiver, closed),
            link: Arc::clone(&self.answers.link),
            record: self.answers.record.take(),
        })
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let is_overdue = self.request.is_overdue();
        if is_overdue {
            self.answers.link.set_overdue();
        }
        self.answers.link.give_up();
        if is_overdue && !self.answers.link.has_begun() {
            // No isolate tells the log of it.
            let millis = self.control.handler_time_max.as_millis();
            let (method, path) = (self.request.method_str(), self.request.path());
            let title = format!("{method} {path}");
            let text = format!(
                "no answer after {millis} ms: given up while it waited for the slow lane (handler_millis_max)"
            );
            log(
                &self.control,
                None,
                &title,
                &Error::new(ErrorKind::Timeout, text),
            );
        }
    }
}

/// The stream of an answer as its connection reads it.
struct LaneStream(Answers);

impl BodyStream for LaneStream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        loop {
            return Poll::Ready(match ready!(self.0.poll(cx)) {
                Some(LaneMessage::Chunk(bytes)) => Some(Ok(Chunk::Bytes(bytes))),
                Some(LaneMessage::End(ended, times)) => {
                    self.0.add(times);
                    ended.err().map(|text| Err(BodyError(text)))
                }
                Some(LaneMessage::Hints(_) | LaneMessage::Refused(_) | LaneMessage::Answer(..)) => {
                    continue;
                }
                None => Some(Err(BodyError("its isolate has ended".to_owned()))),
            });
        }
    }

    fn look(&mut self, worker: WorkerMoment) -> u64 {
        if let Some(millis) = worker.ends_over_millis {
            self.0.link.end_over(millis);
        }
        u64::MAX
    }

    fn cut(&mut self, limit: Exceeded) {
        self.0.link.cut(limit);
    }
}
