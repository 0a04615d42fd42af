//! Large bodies, compressed piece by piece as they are sent.

use brotli::CompressorWriter;
use flate2::write::GzEncoder;
use sampan_host::request::Coding;
use sampan_http::{Body, BodyError, BodyStream, Chunk};
use sampan_project::encoders::{BROTLI_QUALITY, BROTLI_WINDOW, GZIP_LEVEL, ZSTD_LEVEL};
use std::io::{self, Write};
use std::task::{Context, Poll};
use zstd::stream::write::Encoder as ZstdEncoder;

/// The part of a body that is compressed in one turn of the worker, in bytes: well below a millisecond of work.
const PIECE_BYTES: usize = 32 * 1024;

/// A body that is being compressed.
pub(super) struct CompressedPieces {
    plain: Body,
    at: usize,
    /// `None` once it has ended, or where it could not be made.
    encoder: Option<Encoder>,
    /// Others had their turn since the last piece.
    is_rested: bool,
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                Self::Gzip(GzEncoder::new(Vec::new(), level))
            }
            Coding::Zstd => Self::Zstd(ZstdEncoder::new(Vec::new(), ZSTD_LEVEL)?),
            Coding::Brotli => {
                let (quality, window) = (BROTLI_QUALITY as u32, BROTLI_WINDOW as u32);
                let writer = CompressorWriter::new(Vec::new(), 4096, quality, window);
                Self::Brotli(Box::new(writer))
            }
        })
    }

    /// Takes a piece, and gives what has become of it and of those before, which may be nothing yet.
    fn write(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => {
                encoder.write_all(piece)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Zstd(encoder) => {
                encoder.write_all(piece)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Brotli(encoder) => {
                encoder.write_all(piece)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
        }
    }

    /// The rest.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
        }
    }
}

impl CompressedPieces {
    pub(super) fn new(coding: Coding, plain: Body) -> Self {
        Self {
            plain,
            at: 0,
            encoder: Encoder::new(coding).ok(),
            is_rested: true,
        }
    }

    /// The next piece; `None` after the last.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let plain = bytes_of(&self.plain).unwrap_or_default();
        let end = plain.len().min(self.at + PIECE_BYTES);
        let piece = &plain[self.at..end];
        if piece.is_empty() {
            return self.encoder.take().map(Encoder::finish).transpose();
        }
        self.at = end;
        let encoder = self.encoder.as_mut().ok_or(io::ErrorKind::OutOfMemory)?;
        encoder.write(piece).map(Some)
    }
}

impl BodyStream for CompressedPieces {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if !std::mem::take(&mut self.is_rested) {
            self.is_rested = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.next().transpose();
        Poll::Ready(next.map(|made| match made {
            Ok(bytes) => Ok(Chunk::Bytes(bytes)),
            Err(error) => Err(BodyError(format!("cannot compress: {error}"))),
        }))
    }
}

/// The bytes of a body that is here.
pub(super) fn bytes_of(body: &Body) -> Option<&[u8]> {
    match body {
        Body::Bytes(bytes) => Some(bytes),
        Body::Shared(bytes) => Some(bytes),
        Body::Lent(lender) => Some((**lender).as_ref()),
        _ => None,
    }
}
