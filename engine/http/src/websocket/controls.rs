//! The limit of a client's pings and pongs.

/// The time over which they are counted, in milliseconds.
const COUNTED_MILLIS: u64 = 1000;

/// Counts the pings and pongs of one client, for [`Limits::control_frames_max`](crate::Limits::control_frames_max).
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFrames {
    /// Pings and pongs, less messages.
    count: usize,
    /// The time at which the count begins anew.
    until: u64,
}

impl ControlFrames {
    /// Counts a ping or a pong that came at `now`, in milliseconds. Reports whether these are more than `max` within a
    /// second.
    pub fn note(&mut self, now: u64, max: usize) -> bool {
        if now >= self.until {
            self.until = now.saturating_add(COUNTED_MILLIS);
            self.count = 0;
        }
        self.count += 1;
        self.count > max
    }

    /// Takes note of a message, which allows for another ping or pong.
    pub fn note_message(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// Returns the reason of the close frame for a client that has sent more than `max`.
    pub fn reason(max: usize) -> String {
        format!("more than {max} pings and pongs within a second")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_count_within_a_second_and_messages_allow_for_more() {
        let mut frames = ControlFrames::default();
        let mut note = |now| frames.note(now, 2);
        assert_eq!([note(5), note(5), note(1004)], [false, false, true]);
        assert_eq!([note(1005), note(1005)], [false, false]);
        frames.note_message();
        assert!(!frames.note(1005, 2));
        assert!(frames.note(1005, 2));
    }
}
