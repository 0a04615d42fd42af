//! The isolate's end: answers a request that another worker has handed over.

use crate::dispatch::dispatch::Dispatch;
use crate::lane::crossing::{LaneMessage, LaneRequest, OwnedAnswer, SlowLane};
use crate::lane::link::LaneLink;
use crate::lane::meter::Meter;
use crate::lane::route_lane::RouteLane;
use crate::request::observers::Observers;
use crate::request::record::Record;
use crate::request::times::RecordedTimes;
use sampan_http::{
    Answer, BodyError, BodyStream, Chunk, Handler, Request, WorkerMoment, decided, panic_text,
};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use tokio::time::Sleep;

/// A request that runs in the slow lane.
struct LaneRun {
    dispatch: Rc<Dispatch>,
    lane: Arc<dyn SlowLane>,
    route: Arc<RouteLane>,
    record: Option<Rc<Record>>,
    answers: Sender<LaneMessage>,
    link: Arc<LaneLink>,
    meter: Meter,
}

/// The outcome of a poll of work that a connection waits for.
enum Polled<T> {
    Done(T),
    /// The connection waits no more.
    GivenUp,
}

/// Answers a request, and sends the answer to its connection. Ends when all of it has been taken, or when the
/// connection waits no more.
pub async fn answer_apart(dispatch: Rc<Dispatch>, lane: Arc<dyn SlowLane>, given: LaneRequest) {
    let LaneRequest {
        request,
        route,
        timing,
        answers,
        link,
        ..
    } = given;
    link.begin();
    // No connection of this thread tells it the time.
    dispatch.ticked(now_millis());
    let record = timing.map(|timing| dispatch.record_apart(timing));
    let recorded = record.clone();
    let run = LaneRun {
        dispatch,
        lane,
        route,
        record,
        answers,
        link,
        meter: Meter::default(),
    };
    run.answer(&request.into_request()).await;
    if let Some(record) = recorded {
        record.end_apart();
    }
}

impl LaneRun {
    async fn answer(mut self, request: &Rc<Request>) {
        let answer = self.answer_of(request).await;
        self.measured();
        let (answer, stream) = match answer {
            Polled::GivenUp => return,
            Polled::Done(Answer::Precomputed(response)) => {
                (OwnedAnswer::Precomputed(response), None)
            }
            Polled::Done(Answer::Now(response)) => match response.into_owned() {
                (response, None) => (OwnedAnswer::Whole(response), None),
                (response, stream) => (OwnedAnswer::Streamed(response), stream),
            },
            // A request for another protocol stays with its connection.
            Polled::Done(Answer::Upgrade(_) | Answer::Held(..) | Answer::Later(_)) => {
                let (response, _) = self.dispatch.error(501, None).into_owned();
                (OwnedAnswer::Whole(response), None)
            }
        };
        let hints = request.take_early_hints();
        if !hints.is_empty() {
            let _ = self.answers.send(LaneMessage::Hints(hints)).await;
        }
        let message = LaneMessage::Answer(answer, self.times());
        let sent = self.answers.send(message).await;
        if let (Ok(()), Some(stream)) = (sent, stream) {
            self.send_all(stream).await;
        }
    }

    /// Answers as a worker does, as far as the answer can leave.
    async fn answer_of(&mut self, request: &Rc<Request>) -> Polled<Answer> {
        let dispatch = Rc::clone(&self.dispatch);
        let observers = Observers {
            record: self.record.clone(),
            failures: None,
        };
        let work = async {
            let answer = dispatch.handle_observed(request, observers);
            decided(&*dispatch, answer).await
        };
        let mut work = pin!(work);
        let answer = {
            let (meter, answers, link) = (&mut self.meter, &self.answers, &self.link);
            let (watch, number) = (dispatch.loaded().control.gate.watch(), self.route.number());
            let mut closed = pin!(answers.closed());
            poll_fn(|cx| {
                if closed.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Polled::GivenUp);
                }
                let poll = || catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
                let route_before = watch.set_route(number);
                let polled = link.during(&watch, || meter.run(poll));
                watch.set_route(route_before);
                let Some(polled) = polled else {
                    return Poll::Ready(Polled::GivenUp);
                };
                match polled {
                    Ok(Poll::Ready(answer)) => Poll::Ready(Polled::Done(answer)),
                    Ok(Poll::Pending) => {
                        send_hints(request, answers);
                        Poll::Pending
                    }
                    Err(panic) => {
                        self.dispatch.panicked(panic_text(&*panic));
                        let refusal = self.dispatch.error(500, None);
                        Poll::Ready(Polled::Done(Answer::Now(refusal)))
                    }
                }
            })
            .await
        };
        if matches!(answer, Polled::GivenUp) && self.link.is_overdue() {
            // Known before the handler is dropped, with `work`.
            request.set_overdue();
        }
        answer
    }

    /// Sends the stream of an answer, one chunk at a time.
    async fn send_all(&mut self, mut stream: Box<dyn BodyStream>) {
        let mut timer = pin!(tokio::time::sleep(Duration::MAX));
        let answers = self.answers.clone();
        let ended = loop {
            let Ok(permit) = answers.reserve().await else {
                return self.cut(stream);
            };
            let next = self.next_of(&mut *stream, timer.as_mut());
            match next.await {
                Polled::GivenUp => {
                    drop(permit);
                    return self.cut(stream);
                }
                Polled::Done(Some(Ok(chunk))) => {
                    let bytes = match chunk {
                        Chunk::Bytes(bytes) => bytes,
                        lent => lent.as_ref().to_vec(),
                    };
                    permit.send(LaneMessage::Chunk(bytes));
                }
                Polled::Done(Some(Err(BodyError(text)))) => break Err(text),
                Polled::Done(None) => break Ok(()),
            }
        };
        drop(stream);
        self.measured();
        let end = LaneMessage::End(ended, self.times());
        let _ = self.answers.send(end).await;
    }

    /// The next chunk of a stream, which is told the time as on a worker.
    async fn next_of(
        &mut self,
        stream: &mut dyn BodyStream,
        mut timer: Pin<&mut Sleep>,
    ) -> Polled<Option<Result<Chunk, BodyError>>> {
        let (meter, link) = (&mut self.meter, &self.link);
        let mut closed = pin!(self.answers.closed());
        poll_fn(|cx| {
            if closed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Polled::GivenUp);
            }
            let ends_over_millis = link.poll_end(cx);
            let look = |stream: &mut dyn BodyStream| {
                stream.look(WorkerMoment {
                    now_millis: now_millis(),
                    ends_over_millis,
                })
            };
            loop {
                let poll_at = look(stream);
                let polled = meter.run(|| {
                    catch_unwind(AssertUnwindSafe(|| stream.poll_chunk(cx))).unwrap_or_else(
                        |panic| {
                            let text = panic_text(&*panic).to_owned();
                            self.dispatch.panicked(&text);
                            Poll::Ready(Some(Err(BodyError(text))))
                        },
                    )
                });
                if let Poll::Ready(next) = polled {
                    return Poll::Ready(Polled::Done(next));
                }
                if !is_due(poll_at, timer.as_mut(), cx) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Drops a stream whose connection reads no more.
    fn cut(&self, mut stream: Box<dyn BodyStream>) {
        if let Some(limit) = self.link.cut_by() {
            stream.cut(limit);
        }
        drop(stream);
        self.measured();
    }

    /// Takes note of the runs so far.
    fn measured(&self) {
        let longest = self.meter.longest();
        // Nothing has run for a request that was given up before.
        let has_run = !longest.is_zero();
        if has_run && self.lane.routes().note(&self.route, longest) {
            self.lane.moved();
        }
    }

    /// Returns the times since they were asked for last.
    fn times(&self) -> RecordedTimes {
        let taken = self.record.as_ref().map(|record| record.take_times());
        taken.unwrap_or_default()
    }
}

/// Passes on what may be sent while the handler waits.
fn send_hints(request: &Request, answers: &Sender<LaneMessage>) {
    let lines = request.take_early_hints();
    if lines.is_empty() {
        return;
    }
    match answers.try_reserve() {
        Ok(permit) => permit.send(LaneMessage::Hints(lines)),
        // Those before have not been taken; these go with the next.
        Err(_) => request.add_early_hints(&lines),
    }
}

/// Reports whether a time has come; if not, the task is woken then.
fn is_due(poll_at: u64, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> bool {
    if poll_at == u64::MAX {
        return false;
    }
    let left = Duration::from_millis(poll_at.saturating_sub(now_millis()));
    timer.as_mut().reset(tokio::time::Instant::now() + left);
    timer.poll(cx).is_ready()
}

/// Returns the time on a clock of the process, in milliseconds.
fn now_millis() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let since = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
