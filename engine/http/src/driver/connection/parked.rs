//! The way of an idle connection out of its worker, and back into one. See [`Parking`](crate::driver::Parking).

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

use super::{Connection, Phase};
use crate::driver::clock::process_millis;
use crate::driver::deadlines::NEVER;
use crate::driver::local::Local;
use crate::driver::parking::{PARKS_AFTER_MILLIS, Parked};
use crate::driver::runtime::{Runtime, Socket};
use crate::driver::transport::Transport;
use crate::peer::RemoteEnd;

impl<S: Socket> Connection<S> {
    /// Goes on with a connection that was parked.
    ///
    /// # Errors
    /// As [`Connection::new`].
    pub(in crate::driver) fn resume(
        parked: Parked,
        runtime: &impl Runtime<Socket = S>,
        local: Rc<Local>,
    ) -> io::Result<Self> {
        let socket = Arc::new(runtime.socket(parked.socket)?);
        let left = parked.ends_at.saturating_sub(process_millis());
        let client = RemoteEnd {
            peer: parked.peer,
            is_unnamed: parked.is_unnamed,
            tls: parked.tls.as_ref().map(|tls| Rc::new(tls.info())),
        };
        let transport = Transport::resumed(socket, parked.tls);
        let read_by = local.now_millis() + left;
        let mut connection = Self::with(transport, client, read_by, local);
        connection.has_served = parked.has_served;
        if parked.has_served {
            connection.phase = Phase::Idle;
        }
        connection.begin_idle();
        Ok(connection)
    }

    /// Sets the time to park from now on.
    pub(super) fn begin_idle(&mut self) {
        if self.local.parking.is_some() {
            self.parks_at = self.local.now_millis() + PARKS_AFTER_MILLIS;
        }
    }

    /// Returns the time to park, if the connection waits for a request.
    pub(super) fn park_by(&self) -> u64 {
        match self.phase {
            Phase::Fresh | Phase::Idle => self.parks_at,
            Phase::Head | Phase::Body | Phase::Busy => NEVER,
        }
    }

    /// Leaves the worker if the connection has been idle for long enough. True if it ends here with that.
    pub(super) fn park(&mut self) -> bool {
        if self.park_by() > self.local.now_millis() {
            return false;
        }
        // What cannot be parked now is not tried again until the connection is idle once more.
        self.parks_at = NEVER;
        let Some(parking) = self.local.parking.clone().filter(|_| self.is_at_rest()) else {
            return false;
        };
        // The worker's own descriptor is closed with the connection.
        let Ok(socket) = self.transport.socket().as_fd().try_clone_to_owned() else {
            return false;
        };
        let left = self.read_by.saturating_sub(self.local.now_millis());
        let parked = Parked {
            socket: socket.into(),
            tls: self.transport.take_session(),
            peer: self.client.peer,
            is_unnamed: self.client.is_unnamed,
            has_served: self.has_served,
            ends_at: process_millis().saturating_add(left),
        };
        match parking.park(parked) {
            Ok(()) => true,
            Err(parked) => {
                self.transport.give_session(parked.tls);
                false
            }
        }
    }

    /// Reports whether nothing is under way: no bytes of a request, no answer, no end.
    fn is_at_rest(&self) -> bool {
        let is_answering = self.running.is_some()
            || self.streaming.is_some()
            || self.receiving.is_some()
            || !self.queue.is_empty();
        let is_sending =
            !self.output.is_empty() || !self.observed.is_empty() || self.unsent.is_some();
        let is_ending = self.refused || self.last || self.eof || self.local.leaving.get();
        !is_answering
            && !is_sending
            && !is_ending
            && self.input.is_none()
            && self.takeover.is_none()
            && self.transport.is_at_rest()
    }
}
