//! A message that has begun and has not ended: the memory that it holds, and the pace at which its client sends.
//!
//! Both are limited as for the body of a request. Pongs do not count: a client could keep a message open for ever.

use sampan_http::websocket::Decoder;
use sampan_http::{MessageRoom, Upgraded};

/// A message that has begun and has not ended.
pub(super) struct ArrivingMessage {
    number: u64,
    room: Option<MessageRoom>,
    /// The bytes that had come when the time began anew.
    seen: u64,
    /// The time by which more must have come.
    by: u64,
}

impl ArrivingMessage {
    /// Returns the time by which more must have come.
    pub(super) fn by(&self) -> u64 {
        self.by
    }

    /// Gives the client all its time again, after some in which nothing was read.
    pub(super) fn begin_anew(&mut self, stream: &Upgraded) {
        self.by = due(stream);
    }
}

/// Returns the time by which a client must send on that has just sent enough.
fn due(stream: &Upgraded) -> u64 {
    let (millis, _) = stream.body_pace();
    stream.now_millis().saturating_add(millis)
}

/// Looks at the message that arrives, after bytes have been read.
///
/// # Errors
/// The name of the limit that leaves no room for it.
pub(super) fn watch(
    arriving: &mut Option<Box<ArrivingMessage>>,
    decoder: &Decoder,
    stream: &Upgraded,
) -> Result<(), &'static str> {
    let Some(message) = decoder.unfinished() else {
        *arriving = None;
        return Ok(());
    };
    let by = due(stream);
    if arriving
        .as_ref()
        .is_none_or(|known| known.number != message.number)
    {
        *arriving = Some(Box::new(ArrivingMessage {
            number: message.number,
            room: stream.message_room(),
            seen: 0,
            by,
        }));
    }
    let Some(known) = arriving else {
        return Ok(());
    };
    let (_, bytes_min) = stream.body_pace();
    if message.came - known.seen >= bytes_min as u64 {
        (known.seen, known.by) = (message.came, by);
    }
    match &mut known.room {
        Some(room) => room.grow_to(message.memory_bytes),
        None => Ok(()),
    }
}
