//! The body of an answer of events.

use crate::events::coding::EventCoding;
use crate::events::function::{EventFunction, stream_of};
use crate::gate::script_stream::ScriptStream;
use crate::request::meters::WorkerMeters;
use crate::request::request_view::View;
use sampan_host::events::{EVENT_STREAM, EventBytes, EventStream, HEARTBEAT, retry};
use sampan_host::metrics::LevelGuard;
use sampan_http::codec::Exceeded;
use sampan_http::{Body, BodyError, BodyStream, Chunk, Response, WorkerMoment};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The least time that a client is told to wait before it comes back, in milliseconds. It keeps that for later too.
const RETRY_MILLIS_MIN: u64 = 1_000;

/// The least time over which clients spread, in milliseconds.
const SPREAD_MILLIS_MIN: u64 = 3_000;

/// A stream of events as the HTTP engine reads it.
struct EventBody {
    /// The function that feeds it, until that has ended.
    script: Option<Box<ScriptStream>>,
    /// The request, until its function has begun.
    view: Option<Rc<View>>,
    /// The stream that the function feeds, once it has begun.
    stream: Option<Rc<EventStream>>,
    coding: Option<EventCoding>,
    /// The worker's clock, and when something was sent last.
    now: u64,
    sent: Option<u64>,
    /// The time over which clients should spread when they come back, in milliseconds.
    spread_millis: u64,
    /// The fault of the function, which cuts the stream behind what was sent before.
    fault: Option<BodyError>,
    is_over: bool,
    /// Counts it, where the server is measured.
    _counted: Option<LevelGuard>,
}

/// Returns the body of an answer that a script's function produces: a stream of events, if it has that type.
pub(crate) fn body_of(
    mut script: Box<ScriptStream>,
    response: &mut Response,
    view: &Rc<View>,
    meters: Option<&WorkerMeters>,
) -> Body {
    let content_type = response.get_header("content-type").unwrap_or_default();
    if !content_type.starts_with(EVENT_STREAM.as_bytes()) {
        return script.into_body(response);
    }
    // Heartbeats and events of others are added.
    response.forget_length();
    script.wrap(|body| {
        let view = Rc::clone(view);
        Box::new(EventFunction { body, view })
    });
    Body::Stream(Box::new(EventBody {
        script: Some(script),
        view: Some(Rc::clone(view)),
        stream: None,
        coding: EventCoding::asked(response, view),
        now: 0,
        sent: None,
        spread_millis: 0,
        fault: None,
        is_over: false,
        _counted: meters.map(|meters| meters.event_stream()),
    }))
}

impl EventBody {
    /// Finds the stream that the function has begun in its first run.
    fn find_stream(&mut self, cx: &Context<'_>) {
        self.stream = self.view.as_deref().and_then(stream_of);
        if let Some(stream) = &self.stream {
            self.view = None;
            if let Some(script) = &self.script {
                script.watch(stream);
            }
            // From now on it has a time at which it is to be polled.
            cx.waker().wake_by_ref();
        }
    }

    /// Ends the stream and tells its client to come back, at another time than others.
    fn say_goodbye(&mut self) {
        let Some(stream) = self.stream.as_ref().filter(|stream| stream.is_open()) else {
            return;
        };
        let range = self.spread_millis.max(SPREAD_MILLIS_MIN);
        let millis = RETRY_MILLIS_MIN + spread(stream.number(), range);
        stream.send(EventBytes::Own(retry(millis)));
        stream.close();
        // It ends in order, beside what is still sent.
        self.script = None;
    }

    /// Runs the function on. Ready with what it wrote itself.
    fn poll_script(&mut self, cx: &mut Context<'_>) -> Poll<Chunk> {
        let Some(script) = &mut self.script else {
            return Poll::Pending;
        };
        if self.stream.is_some() && script.is_cut_off() {
            // A reload gives functions of the old project some time, and no more.
            self.say_goodbye();
            return Poll::Pending;
        }
        let polled = script.poll_chunk(cx);
        if self.stream.is_none() {
            self.find_stream(cx);
        }
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(chunk))) => Poll::Ready(chunk),
            Poll::Ready(ended) => {
                self.fault = ended.and_then(Result::err);
                self.script = None;
                self.view = None;
                if let (Some(stream), Some(_)) = (&self.stream, &self.fault) {
                    stream.close();
                }
                Poll::Pending
            }
        }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if let Poll::Ready(written) = self.poll_script(cx) {
            return Poll::Ready(Some(Ok(written)));
        }
        let Some(stream) = &self.stream else {
            return match self.script {
                Some(_) => Poll::Pending,
                None => self.end(),
            };
        };
        stream.wake_on_change(cx);
        if let Some(chunk) = stream.take() {
            return Poll::Ready(Some(Ok(match chunk {
                sampan_host::Chunk::Bytes(bytes) => Chunk::Bytes(bytes),
                sampan_host::Chunk::Lent(lender) => Chunk::Lent(lender),
                sampan_host::Chunk::LentBriefly(lender) => Chunk::LentBriefly(lender),
            })));
        }
        if stream.is_finished(self.script.is_none()) {
            // Its function has closed it: the client sees that when what the function wrote before is committed.
            if let Some(script) = &mut self.script {
                self.fault = ready!(script.poll_committed(cx)).err();
            }
            return self.end();
        }
        Poll::Pending
    }

    fn end(&mut self) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.is_over = true;
        self.script = None;
        if let Some(stream) = &self.stream {
            stream.end();
        }
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        let rest = self.coding.take().map(EventCoding::finish);
        Poll::Ready(rest.map(|rest| rest.map(Chunk::Bytes)))
    }
}

/// Spreads numbers that follow each other over a range, evenly.
fn spread(number: u64, range: u64) -> u64 {
    /// The part of 2⁶⁴ by which the golden ratio is above one.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let place = u128::from(number.wrapping_mul(GOLDEN));
    ((place * u128::from(range)) >> 64) as u64
}

impl BodyStream for EventBody {
    fn look(&mut self, worker: WorkerMoment) -> u64 {
        self.now = worker.now_millis;
        let sent = *self.sent.get_or_insert(self.now);
        if let Some(millis) = worker.ends_over_millis {
            self.spread_millis = millis;
            self.say_goodbye();
        }
        let Some(stream) = self.stream.as_ref().filter(|stream| stream.is_open()) else {
            return u64::MAX;
        };
        let heartbeat = stream.settings().heartbeat_millis;
        if heartbeat == 0 {
            return u64::MAX;
        }
        if self.now >= sent.saturating_add(heartbeat) {
            stream.send(EventBytes::Own(HEARTBEAT.to_vec()));
            self.sent = Some(self.now);
            return self.now.saturating_add(heartbeat);
        }
        sent.saturating_add(heartbeat)
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.next(cx);
        if !matches!(polled, Poll::Ready(Some(Ok(_)))) {
            return polled;
        }
        self.sent = Some(self.now);
        polled.map(|next| {
            next.map(|made| match (&mut self.coding, made) {
                (Some(coding), Ok(chunk)) => coding.encode(chunk.as_ref()).map(Chunk::Bytes),
                (_, made) => made,
            })
        })
    }

    fn cut(&mut self, limit: Exceeded) {
        if let Some(script) = &mut self.script {
            script.cut(limit);
        }
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        // First, so that a function that waits for the end is told.
        if let Some(stream) = &self.stream {
            stream.end();
        }
        self.script = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_come_back_spread_over_the_time() {
        let mut quarters = [0; 4];
        for number in 1..=100 {
            quarters[(spread(number, 1000) / 250) as usize] += 1;
        }
        assert!(
            quarters.iter().all(|count| (20..=30).contains(count)),
            "{quarters:?}"
        );
        assert_eq!(spread(7, 0), 0);
    }
}
