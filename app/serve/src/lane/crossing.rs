//! The requests that go from a connection's worker to the slow lane, and the messages that come back.

use crate::admission::client::Client;
use crate::lane::link::LaneLink;
use crate::lane::route_lane::{LaneRoutes, RouteLane};
use crate::request::times::RecordedTimes;
use sampan_host::trace::RemoteParent;
use sampan_http::{OwnedRequest, OwnedResponse, Precomputed};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The messages that may wait for the connection: a stream runs ahead of its client by so many chunks.
const MESSAGES_MAX: usize = 2;

/// The isolates of slow routes, as workers know them.
pub trait SlowLane: Send + Sync {
    /// The routes of the server.
    fn routes(&self) -> &LaneRoutes;

    /// Reports whether requests are taken: by isolates, or by the queue while isolates start.
    fn is_open(&self) -> bool;

    /// Queues a request for an isolate that is free. If too many wait, one of them is [refused](LaneRequest::refuse).
    fn submit(&self, request: LaneRequest);

    /// A route has moved from one lane to the other.
    fn moved(&self);
}

/// The reason for which the slow lane does not answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneRefusal {
    /// Too many requests wait, and its client has the most of them.
    Full,
    /// A wait that is too long, as those of others are.
    Overload,
}

/// The beginning of a request whose times are measured, or that is traced.
pub(crate) struct LaneTiming {
    /// The time at which it was whole, if that is known.
    pub(crate) arrived: Option<Instant>,
    /// The id for the access log, where that is on.
    pub(crate) id: Option<Box<str>>,
    /// The request's own span, where it is traced.
    pub(crate) trace: Option<RemoteParent>,
}

/// A request on its way to the slow lane.
pub struct LaneRequest {
    pub(crate) request: OwnedRequest,
    pub(crate) route: Arc<RouteLane>,
    pub(crate) client: Client,
    /// True if it begins before all others.
    pub(crate) has_priority: bool,
    /// The beginning of its times, where the connection's worker measures them.
    pub(crate) timing: Option<LaneTiming>,
    pub(crate) answers: Sender<LaneMessage>,
    pub(crate) link: Arc<LaneLink>,
}

impl LaneRequest {
    /// Creates it, with the receiver of its answer.
    pub(crate) fn new(
        request: OwnedRequest,
        route: &Arc<RouteLane>,
        (client, has_priority): (Client, bool),
        only_reads: bool,
        timing: Option<LaneTiming>,
    ) -> (Self, Receiver<LaneMessage>, Arc<LaneLink>) {
        let (answers, receiver) = channel(MESSAGES_MAX);
        let link = Arc::new(LaneLink::new(only_reads));
        let given = Self {
            request,
            route: Arc::clone(route),
            client,
            has_priority,
            timing,
            answers,
            link: Arc::clone(&link),
        };
        (given, receiver, link)
    }

    /// Reports whether nothing waits for the answer any more.
    pub fn is_given_up(&self) -> bool {
        self.answers.is_closed()
    }

    /// Tells the connection that the request is not answered.
    pub fn refuse(self, refusal: LaneRefusal) {
        // It is the first message, so there is room, or the connection is gone.
        let _ = self.answers.try_send(LaneMessage::Refused(refusal));
    }

    /// Returns the state of the request, by which the program can give it up.
    pub fn link(&self) -> &Arc<LaneLink> {
        &self.link
    }
}

/// A message to the connection's worker.
pub(crate) enum LaneMessage {
    /// Fields `Link` that may be sent before the answer.
    Hints(Vec<u8>),
    /// The reason why there is no answer.
    Refused(LaneRefusal),
    /// The answer. Where it has a stream, the messages from then on are that stream.
    Answer(OwnedAnswer, RecordedTimes),
    /// A chunk of the answer's stream.
    Chunk(Vec<u8>),
    /// The end of the stream: a fault cuts it.
    End(Result<(), String>, RecordedTimes),
}

/// An answer on its way to its connection.
pub(crate) enum OwnedAnswer {
    Whole(OwnedResponse),
    Streamed(OwnedResponse),
    Precomputed(Arc<Precomputed>),
}
