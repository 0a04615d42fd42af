//! The times of a socket: a client that is silent, takes nothing, or does not finish what it has begun.

use super::{CLOSE_MILLIS_MAX, SocketConnection};
use crate::sockets::run::EventInFlight;
use crate::sockets::state::Stage;
use sampan_host::sockets::{Payload, SocketMessage};
use sampan_http::websocket::codes;

impl SocketConnection {
    /// Returns when the connection ends, whatever its events do: its client takes nothing, or does not answer our close
    /// frame.
    pub(super) fn ends_at(&self) -> u64 {
        if matches!(self.stage, Stage::Ended | Stage::Told) {
            return u64::MAX;
        }
        let mut idle_max = self.stream.write_idle_millis_max();
        if self.is_answered || self.stage == Stage::Broken || self.stream.is_draining() {
            idle_max = idle_max.min(CLOSE_MILLIS_MAX);
        }
        let stalled = self.stalled_since;
        let stalled = stalled.map_or(u64::MAX, |since| since.saturating_add(idle_max));
        stalled.min(self.close_by.unwrap_or(u64::MAX))
    }

    /// Acts on the time. Returns when there is something to do next, apart from [`Self::ends_at`].
    pub(super) fn watch_time(&mut self) -> u64 {
        let now = self.stream.now_millis();
        if self.stream.is_draining() && !self.socket.is_closing() {
            self.socket.close(codes::GOING_AWAY, "the server stops");
            self.stalled_since = self.stalled_since.map(|_| now);
        }
        if self.ends_at() <= now {
            self.stage = Stage::Ended;
        }
        // An event that still waits has its own limit.
        let run = self.run.as_ref().map_or(u64::MAX, EventInFlight::by);
        if self.run.is_some() || self.stage == Stage::Ended || self.socket.is_closing() {
            return run;
        }
        let settings = self.socket.settings();
        let heard = self.life.heard;
        let idle = heard.saturating_add(settings.idle_millis_max);
        let arriving = self.arriving.as_ref();
        let arrives_by = arriving.map_or(u64::MAX, |message| message.by());
        let ping = match (settings.ping_millis, self.life.is_asked) {
            (0, _) | (_, true) => u64::MAX,
            (millis, false) => heard.saturating_add(millis),
        };
        if idle <= now && self.stalled_since.is_some() {
            // A close frame would wait behind the bytes that the client does not take.
            self.stage = Stage::Ended;
            u64::MAX
        } else if idle <= now {
            let text = format!("nothing came for {} ms", settings.idle_millis_max);
            self.socket.close_now(codes::GOING_AWAY, &text);
            u64::MAX
        } else if arrives_by <= now {
            let (millis, bytes) = self.stream.body_pace();
            let text =
                format!("the message came too slowly: less than {bytes} bytes in {millis} ms");
            self.refuse(codes::POLICY, &text);
            u64::MAX
        } else if ping <= now {
            self.life.is_asked = true;
            let empty = Payload::Own(Box::default());
            self.socket
                .outgoing(|out| out.push(SocketMessage::Ping(empty)));
            idle.min(arrives_by)
        } else {
            idle.min(ping).min(arrives_by)
        }
    }
}
