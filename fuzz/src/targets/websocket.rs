//! The WebSocket decoder: the same events in every split, only valid close codes, nothing above its limits; and what
//! frames carry comes back.

use sampan_http::websocket::{
    CloseFrame, Decoder, DecoderLimits, Event, Head, Opcode, ProtocolFault, Role, apply_mask,
    codes, negotiate,
};

const MESSAGE_BYTES_MAX: usize = 4096;

pub(crate) const WORDS: &[&[u8]] = &[
    b"\x81\x85\0\0\0\0hello",
    b"\x01\x81\0\0\0\0\xc3",
    b"\x80\x81\0\0\0\0\xa4",
    b"\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\x00",
    b"\x88\x82\0\0\0\0\x03\xe8",
    b"\x89\x80\0\0\0\0",
    b"\x82\xfe\x01\x00",
    b"permessage-deflate; server_max_window_bits=9",
];

/// The events of the bytes, and the fault at their end.
type Decoded = (Vec<Event>, Option<ProtocolFault>);

pub(crate) fn run(bytes: &[u8]) {
    let _ = negotiate(bytes);
    for is_compressed in [false, true] {
        let whole = decode(bytes, bytes.len().max(1), is_compressed);
        for step in [1, 2, 7, 64] {
            let (events, fault) = decode(bytes, step, is_compressed);
            assert_eq!(events, whole.0, "in pieces of {step}");
            // Of two faults in one message the first to be seen counts, which depends on the pieces.
            assert_eq!(fault.is_some(), whole.1.is_some(), "in pieces of {step}");
        }
        for event in &whole.0 {
            check(event);
        }
    }
    there_and_back(bytes);
}

fn decode(bytes: &[u8], step: usize, is_compressed: bool) -> Decoded {
    let limits = DecoderLimits {
        message_bytes_max: MESSAGE_BYTES_MAX,
        is_compressed,
    };
    let (mut decoder, mut events) = (Decoder::new(Role::Server, limits), Vec::new());
    for mut piece in bytes.chunks(step) {
        loop {
            match decoder.next(&mut piece) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(fault) => return (events, Some(fault)),
            }
        }
        assert!(piece.is_empty(), "all is taken or kept");
    }
    (events, None)
}

fn check(event: &Event) {
    match event {
        Event::Text(text) => assert!(text.len() <= MESSAGE_BYTES_MAX),
        Event::Bytes(bytes) => assert!(bytes.len() <= MESSAGE_BYTES_MAX),
        Event::Ping(payload) | Event::Pong(payload) => assert!(payload.len() <= 125),
        Event::Close(CloseFrame { code, reason }) => {
            assert!(*code == codes::NONE || CloseFrame::may_send(*code));
            assert!(reason.len() <= 123);
        }
    }
}

/// The bytes as one message come back, masked and in fragments.
fn there_and_back(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MESSAGE_BYTES_MAX)];
    let mask = [0x17, 0x2a, 0xff, 0x80];
    let (first, rest) = bytes.split_at(bytes.len() / 3);
    let mut sent = Vec::new();
    for (part, opcode, is_final) in [
        (first, Opcode::Binary, false),
        (rest, Opcode::Continuation, true),
    ] {
        let head = Head {
            is_final,
            mask: Some(mask),
            ..Head::whole(opcode, part.len())
        };
        let (head, len) = head.encode();
        sent.extend_from_slice(&head[..len]);
        let at = sent.len();
        sent.extend_from_slice(part);
        apply_mask(&mut sent[at..], mask, 0);
    }
    let expected = vec![Event::Bytes(bytes.to_vec())];
    assert_eq!(decode(&sent, 5, false), (expected, None));
}
