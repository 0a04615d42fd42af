//! Answers of text, compressed for clients that accept it (RFC 9110 section 8.4).
//!
//! Compressed bodies are kept, so that a page that many ask for is compressed once. Each worker keeps its own: nothing
//! is locked then, and a worker compresses a hot page once in its life. Streams of scripts are left alone: each would
//! keep a quarter of a megabyte for as long as it is open, and what it writes would wait. Streams of events may ask for
//! it (`events::coding`).

mod cache;
mod compressor;
mod kinds;
mod pieces;

pub use compressor::{Compression, SECTION};
pub(crate) use compressor::{accepted, takes_gzip};
