//! The WebSocket protocol (RFC 6455) without I/O: the opening handshake, frames, messages, close codes, and
//! permessage-deflate (RFC 7692) without context takeover.
//!
//! A [`Decoder`] takes bytes as they come and gives messages; [`Head`] is the head of a frame for the other way.
//! Neither knows sockets. Both serve either end of a connection: servers, and the client of tests.

mod close;
mod controls;
mod decoder;
mod deflate;
mod extension;
mod fault;
mod frame;
mod handshake;
mod utf8;

pub use close::{CloseFrame, codes};
pub use controls::ControlFrames;
pub use decoder::{Decoder, DecoderLimits, Event, UnfinishedMessage};
pub use deflate::{Deflater, Deflaters};
pub use extension::{Deflate, negotiate};
pub use fault::ProtocolFault;
pub use frame::{CONTROL_BYTES_MAX, HEAD_BYTES_MAX, Head, Opcode, Role, apply_mask};
pub use handshake::{Refusal, accept_value, check_handshake, check_version};
