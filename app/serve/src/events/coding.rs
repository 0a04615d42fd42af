//! Event streams in gzip, where the handler asks for it and the client takes it.
//!
//! Each piece is flushed, so that no event waits for the next. The encoder keeps a quarter of a megabyte for as long as
//! the stream is open.

use crate::compression::takes_gzip;
use crate::request::request_view::View;
use flate2::Compression;
use flate2::write::GzEncoder;
use sampan_host::events::COMPRESS;
use sampan_http::{BodyError, Response};
use sampan_project::encoders::GZIP_LEVEL;
use std::io::{self, Write};

/// The encoder of one stream.
pub(super) struct EventCoding(GzEncoder<Vec<u8>>);

impl EventCoding {
    /// Returns the encoder that an answer asks for by [`COMPRESS`], unless the client, or the configuration, does not
    /// want it. A script that encodes its own pieces names its coding itself.
    pub(super) fn asked(response: &mut Response, view: &View) -> Option<Self> {
        if response.get_header("content-encoding") != Some(COMPRESS.as_bytes()) {
            return None;
        }
        response.remove_header("content-encoding");
        // An answer that has no room for it goes without.
        let _ = response.header(b"Vary", b"Accept-Encoding");
        if !view.may_compress() || !takes_gzip(view.request()) {
            return None;
        }
        // An answer that has no room for the field is not encoded.
        response.header(b"Content-Encoding", b"gzip").ok()?;
        let level = Compression::new(GZIP_LEVEL);
        Some(Self(GzEncoder::new(Vec::new(), level)))
    }

    /// Encodes a piece whole.
    pub(super) fn encode(&mut self, piece: &[u8]) -> Result<Vec<u8>, BodyError> {
        let encoded = self.0.write_all(piece).and_then(|()| self.0.flush());
        self.taken(encoded)
    }

    /// Encodes the end.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, BodyError> {
        let ended = self.0.try_finish();
        self.taken(ended)
    }

    fn taken(&mut self, result: io::Result<()>) -> Result<Vec<u8>, BodyError> {
        match result {
            Ok(()) => Ok(std::mem::take(self.0.get_mut())),
            Err(error) => Err(BodyError(format!("cannot compress: {error}"))),
        }
    }
}
