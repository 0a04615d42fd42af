//! The deadlines of a connection as a whole: its beginning, header blocks without end, a socket that takes nothing, and
//! idleness.

use super::frames::FrameWatch;
use super::wire::Wire;
use crate::driver::deadlines::NEVER;
use crate::driver::local::Local;
use crate::driver::runtime::Socket;

/// The time that a connection without a request in hand is kept while its worker ends.
const DRAIN_MILLIS_MAX: u64 = 50;

/// The time over which frames are counted.
const COUNTED_MILLIS: u64 = 1000;

pub(super) struct Times {
    /// The time at which the connection ends if no request is under way.
    idle_by: u64,
    /// The time by which the header block that has begun must be whole.
    block_by: u64,
    /// The time by which the socket must have taken something, and how much it had taken when that was set.
    write_by: u64,
    taken_before: u64,
    /// The time at which the frames are counted anew.
    counted_until: u64,
}

impl Times {
    pub(super) fn new(local: &Local) -> Self {
        let now = local.now_millis();
        Self {
            idle_by: now + local.limits.head_millis_max,
            block_by: NEVER,
            write_by: NEVER,
            taken_before: 0,
            counted_until: now + COUNTED_MILLIS,
        }
    }

    /// A request has come whole.
    pub(super) fn note_request(&mut self) {
        self.block_by = NEVER;
    }

    /// The last request has been answered.
    pub(super) fn begin_idle(&mut self, local: &Local) {
        self.idle_by = local.now_millis() + local.limits.idle_millis_max;
    }

    /// Begins the count of frames anew after its time.
    pub(super) fn mind_frames(&mut self, frames: &mut FrameWatch, local: &Local) {
        let now = local.now_millis();
        if now >= self.counted_until {
            self.counted_until = now + COUNTED_MILLIS;
            frames.forget();
        }
    }

    /// The earliest deadline. `has_departed` is false while the client is still to be told of the worker's end.
    pub(super) fn deadline<S: Socket>(
        &mut self,
        wire: &mut Wire<S>,
        is_idle: bool,
        has_departed: bool,
        local: &Local,
    ) -> u64 {
        let now = local.now_millis();
        let limits = &local.limits;
        if !wire.is_sending() {
            self.write_by = NEVER;
        } else if self.write_by == NEVER
            || wire.taken() - self.taken_before >= limits.progress_bytes_min as u64
        {
            self.write_by = now + limits.write_idle_millis_max;
            self.taken_before = wire.taken();
        }
        if !wire.frames().is_in_block() {
            self.block_by = NEVER;
        } else if self.block_by == NEVER {
            self.block_by = now + limits.head_millis_max;
        }
        if local.draining.get() && has_departed {
            self.idle_by = self.idle_by.min(now + DRAIN_MILLIS_MAX);
        }
        let idle_by = if is_idle { self.idle_by } else { NEVER };
        idle_by.min(self.write_by).min(self.block_by)
    }

    /// Reports whether the socket has taken too little for too long.
    pub(super) fn has_stalled<S: Socket>(&self, now: u64, wire: &Wire<S>) -> bool {
        self.write_by <= now && wire.is_sending()
    }

    /// Reports whether the client has not sent in time what it had to.
    pub(super) fn is_late<S: Socket>(&self, now: u64, wire: &mut Wire<S>, is_idle: bool) -> bool {
        let is_block_late = self.block_by <= now && wire.frames().is_in_block();
        (is_idle && self.idle_by <= now) || is_block_late
    }
}
