//! The time limits of one request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::fault::ClientFault;

/// The limit of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The wait for the head of the answer.
    Head,
    /// The wait for progress of a body.
    Progress,
    /// The wait for the script: only the whole has a limit.
    Free,
}

/// The time limits of one request, and the alarm of its current wait.
pub(super) struct Timer {
    head_millis: u64,
    idle_millis: u64,
    total_millis: u64,
    /// The end of the whole.
    end: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
    /// The wait for which the alarm is set, and the progress at that time.
    armed: Option<(Wait, u64)>,
}

impl Timer {
    /// Creates the limits of a request that begins now. Those of 0 have no end.
    pub(super) fn new(head_millis: u64, idle_millis: u64, total_millis: u64) -> Self {
        let end = (total_millis > 0).then(|| Instant::now() + Duration::from_millis(total_millis));
        Self {
            head_millis,
            idle_millis,
            total_millis,
            end,
            alarm: None,
            armed: None,
        }
    }

    /// Takes note of progress: the next wait begins anew.
    pub(super) fn progressed(&mut self) {
        self.armed = None;
    }

    /// Reports whether a wait has lasted too long, or has the task woken when it has. A wait begins when its kind or
    /// `progress` changes.
    pub(super) fn poll(
        &mut self,
        wait: Wait,
        progress: u64,
        cx: &mut Context<'_>,
    ) -> Poll<ClientFault> {
        if self.armed != Some((wait, progress)) {
            self.armed = Some((wait, progress));
            let millis = match wait {
                Wait::Head => self.head_millis,
                Wait::Progress => self.idle_millis,
                Wait::Free => 0,
            };
            let until = (millis > 0).then(|| Instant::now() + Duration::from_millis(millis));
            let until = match (until, self.end) {
                (Some(until), Some(end)) => Some(until.min(end)),
                (until, end) => until.or(end),
            };
            match (until, &mut self.alarm) {
                (None, alarm) => *alarm = None,
                (Some(until), Some(alarm)) => alarm.as_mut().reset(until),
                (Some(until), alarm) => *alarm = Some(Box::pin(sleep_until(until))),
            }
        }
        let Some(alarm) = &mut self.alarm else {
            return Poll::Pending;
        };
        if alarm.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.end.is_some_and(|end| alarm.deadline() >= end) {
            return Poll::Ready(self.total_late());
        }
        Poll::Ready(match wait {
            Wait::Head => ClientFault::late("no answer", "head_millis_max", self.head_millis),
            _ => ClientFault::late("no progress", "idle_millis_max", self.idle_millis),
        })
    }

    /// Returns the fault of a request whose whole time is over: where there is always more to read, no wait asks for
    /// it.
    pub(super) fn over(&self) -> Option<ClientFault> {
        let end = self.end?;
        (Instant::now() >= end).then(|| self.total_late())
    }

    /// Runs a part that has a time limit of its own, within the whole.
    pub(super) async fn within<T>(
        &self,
        millis: u64,
        key: &str,
        what: &str,
        part: impl Future<Output = Result<T, ClientFault>>,
    ) -> Result<T, ClientFault> {
        let until = (millis > 0).then(|| Instant::now() + Duration::from_millis(millis));
        let until = match (until, self.end) {
            (Some(until), Some(end)) if end < until => (end, true),
            (Some(until), _) => (until, false),
            (None, Some(end)) => (end, true),
            (None, None) => return part.await,
        };
        match tokio::time::timeout_at(until.0, part).await {
            Ok(done) => done,
            Err(_) if until.1 => Err(self.total_late()),
            Err(_) => Err(ClientFault::late(what, key, millis)),
        }
    }

    fn total_late(&self) -> ClientFault {
        ClientFault::late("not done", "total_millis_max", self.total_millis)
    }
}
