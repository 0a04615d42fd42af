//! The requests that go from a connection's worker to the slow lane, and the messages that come back.

use crate::lane::link::LaneLink;
use crate::lane::route_lane::{LaneRoutes, RouteLane};
use sampan_http::{OwnedRequest, OwnedResponse, Precomputed};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The messages that may wait for the connection: a stream runs ahead of its client by so many chunks.
const MESSAGES_MAX: usize = 2;

/// The isolates of slow routes, as workers know them.
pub trait SlowLane: Send + Sync {
    /// The routes of the server.
    fn routes(&self) -> &LaneRoutes;

    /// Reports whether isolates take requests.
    fn is_open(&self) -> bool;

    /// Queues a request for the next isolate that is free.
    ///
    /// # Errors
    /// Too many requests wait.
    fn submit(&self, request: LaneRequest) -> Result<(), LaneFull>;

    /// A route has moved from one lane to the other.
    fn moved(&self);
}

/// The slow lane takes no more requests.
#[derive(Debug)]
pub struct LaneFull;

/// A request on its way to the slow lane.
pub struct LaneRequest {
    pub(crate) request: OwnedRequest,
    pub(crate) route: Arc<RouteLane>,
    /// True if the connection's worker wants to know its times.
    pub(crate) is_timed: bool,
    /// The id for the access log, where that is on.
    pub(crate) id: Option<Box<str>>,
    pub(crate) answers: Sender<LaneMessage>,
    pub(crate) link: Arc<LaneLink>,
}

impl LaneRequest {
    /// Creates it, with the receiver of its answer.
    pub(crate) fn new(
        request: OwnedRequest,
        route: &Arc<RouteLane>,
        is_timed: bool,
        id: Option<&str>,
    ) -> (Self, Receiver<LaneMessage>, Arc<LaneLink>) {
        let (answers, receiver) = channel(MESSAGES_MAX);
        let link = Arc::new(LaneLink::default());
        let given = Self {
            request,
            route: Arc::clone(route),
            is_timed,
            id: id.map(Into::into),
            answers,
            link: Arc::clone(&link),
        };
        (given, receiver, link)
    }

    /// Reports whether nothing waits for the answer any more.
    pub fn is_given_up(&self) -> bool {
        self.answers.is_closed()
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
    /// The answer. Where it has a stream, the messages from then on are that stream.
    Answer(OwnedAnswer, Cost),
    /// A chunk of the answer's stream.
    Chunk(Vec<u8>),
    /// The end of the stream: a fault cuts it.
    End(Result<(), String>, Cost),
}

/// An answer on its way to its connection.
pub(crate) enum OwnedAnswer {
    Whole(OwnedResponse),
    Streamed(OwnedResponse),
    Precomputed(Arc<Precomputed>),
}

/// The times of a request for the access log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) script: Duration,
    pub(crate) db: Duration,
}
