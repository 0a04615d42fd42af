//! Several parts of a file as one body, `multipart/byteranges` (RFC 9110 section 14.6).

use super::ranges::Span;
use super::stored::Content;
use sampan_http::{BodyError, BodyStream, Chunk, FilePart};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The part of a file that is read at once.
const PIECE_BYTES: u64 = 64 * 1024;

/// The parts that are still to be sent.
pub(super) struct MultipartParts {
    source: Source,
    content_type: String,
    boundary: String,
    len: u64,
    /// The next ones, the last first.
    left: Vec<Span>,
    /// The rest of the current one.
    current: Option<Span>,
    has_ended: bool,
}

enum Source {
    Memory(Arc<[u8]>),
    File(FilePart),
}

impl MultipartParts {
    pub(super) fn new(content: &Content, content_type: &str, mut spans: Vec<Span>) -> Self {
        spans.reverse();
        let source = match content {
            Content::Memory(bytes) => Source::Memory(Arc::clone(bytes)),
            Content::Open(part) => Source::File(part.clone()),
        };
        // It cannot be foreseen, so no file can have it on purpose.
        let random = RandomState::new();
        let boundary = format!("{:016x}{:016x}", random.hash_one(1), random.hash_one(2));
        Self {
            source,
            content_type: content_type.to_owned(),
            boundary,
            len: content.len(),
            left: spans,
            current: None,
            has_ended: false,
        }
    }

    /// The content type of the body.
    pub(super) fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    fn head(&self, span: Span) -> Vec<u8> {
        let Self {
            boundary,
            content_type,
            ..
        } = self;
        let range = content_range(span, self.len);
        format!(
            "\r\n--{boundary}\r\nContent-Type: {content_type}\r\nContent-Range: {range}\r\n\r\n"
        )
        .into_bytes()
    }

    /// The next bytes of a part.
    fn piece(&self, span: Span) -> Result<Vec<u8>, BodyError> {
        match &self.source {
            Source::Memory(bytes) => Ok(bytes[span.start as usize..span.end as usize].to_vec()),
            Source::File(part) => {
                let len = (span.end - span.start).min(PIECE_BYTES);
                let mut bytes = vec![0; len as usize];
                let read = part.file.read_at(&mut bytes, part.start + span.start);
                let read = read.map_err(|error| BodyError(error.to_string()))?;
                if read == 0 {
                    return Err(BodyError("the file has become shorter".to_owned()));
                }
                bytes.truncate(read);
                Ok(bytes)
            }
        }
    }
}

/// The value of `Content-Range` for a part.
pub(super) fn content_range(span: Span, len: u64) -> String {
    format!("bytes {}-{}/{len}", span.start, span.end - 1)
}

impl BodyStream for MultipartParts {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if let Some(span) = self.current.take() {
            let piece = self.piece(span).map(|bytes| {
                let start = span.start + bytes.len() as u64;
                self.current = (start < span.end).then_some(Span { start, ..span });
                Chunk::Bytes(bytes)
            });
            return Poll::Ready(Some(piece));
        }
        let bytes = match self.left.pop() {
            Some(span) => {
                self.current = Some(span);
                self.head(span)
            }
            None if self.has_ended => return Poll::Ready(None),
            None => {
                self.has_ended = true;
                format!("\r\n--{}--\r\n", self.boundary).into_bytes()
            }
        };
        Poll::Ready(Some(Ok(Chunk::Bytes(bytes))))
    }
}
