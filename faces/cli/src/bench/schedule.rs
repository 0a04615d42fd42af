//! The times at which requests are due, with a rate.

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The times at which requests are due.
pub(super) struct Schedule {
    /// Nanoseconds between two requests, and when the first is due.
    pause: f64,
    first: f64,
    /// Wakes the thread when the next is: `epoll` itself counts in milliseconds.
    timer: OwnedFd,
    /// The time at which it will, in nanoseconds from the start.
    armed: u64,
}

impl Schedule {
    /// The number of its events.
    pub(super) const EVENT: u64 = u64::MAX;

    /// The schedule of the thread `at`: the threads take turns.
    pub(super) fn new(
        rate: f64,
        at: usize,
        threads: usize,
        poll: &OwnedFd,
    ) -> rustix::io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        epoll::add(
            poll,
            &timer,
            EventData::new_u64(Self::EVENT),
            EventFlags::IN,
        )?;
        let pause = 1e9 * threads as f64 / rate;
        Ok(Self {
            pause,
            first: pause * at as f64 / threads as f64,
            timer,
            armed: 0,
        })
    }

    /// Wakes the thread at a time, or never. This also takes back a wake-up that has come.
    pub(super) fn arm(&mut self, due: u64, now: u64) -> rustix::io::Result<()> {
        if self.armed == due {
            return Ok(());
        }
        self.armed = due;
        let nanos = match due {
            u64::MAX => 0,
            // A time of 0 would be never.
            due => due.saturating_sub(now).max(1),
        };
        let value = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(nanos),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value).map(drop)
    }

    /// Returns when the request is due that follows so many, in nanoseconds from the start.
    pub(super) fn due(&self, sent: u64) -> u64 {
        (self.first + self.pause * sent as f64) as u64
    }

    /// Returns how many requests are due until a time.
    pub(super) fn count(&self, now: u64) -> u64 {
        match now as f64 - self.first {
            time if time < 0.0 => 0,
            time => (time / self.pause) as u64 + 1,
        }
    }
}

/// Nanoseconds as the system takes them.
pub(super) fn timespec(nanos: u64) -> Timespec {
    let pause = Duration::from_nanos(nanos);
    Timespec {
        tv_sec: pause.as_secs().try_into().unwrap_or(0),
        tv_nsec: pause.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll::CreateFlags;

    #[test]
    fn threads_take_turns_at_the_rate() {
        let poll = epoll::create(CreateFlags::CLOEXEC).expect("made");
        let of = |at| Schedule::new(1_000.0, at, 2, &poll).expect("a timer");
        let (one, other) = (of(0), of(1));
        let due = |of: &Schedule| [0, 1, 2].map(|sent| of.due(sent));
        assert_eq!(due(&one), [0, 2_000_000, 4_000_000]);
        assert_eq!(due(&other), [1_000_000, 3_000_000, 5_000_000]);
        // A second holds a thousand of both, however late they are sent.
        let last = 999_999_999;
        assert_eq!(one.count(last) + other.count(last), 1_000);
        assert_eq!(
            [0, 999_999, 1_000_000].map(|now| other.count(now)),
            [0, 0, 1]
        );
    }
}
