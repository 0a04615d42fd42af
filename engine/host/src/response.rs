//! The sink of a script's answer.

use crate::error::Error;
use crate::whole_answer::WholeAnswer;
use std::task::{Context, Poll};

/// Receives the answer of one request. An engine calls it after the handler has returned, in any order.
pub trait ResponseSink {
    /// Sets the status, 200 to 599. Others are an error in the script.
    fn status(&mut self, status: u16) -> Result<(), Error>;

    /// Adds a field line. A name that is no token, or a value with CR, LF, NUL or another control byte, is an error in
    /// the script. Fields that frame the message (`Content-Length`, `Transfer-Encoding`, `Connection`) are the
    /// server's: it takes from them what it can honour and drops the rest.
    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error>;

    /// The content type that is sent unless the script set one.
    fn default_type(&mut self, content_type: &'static str);

    /// The body, to be written in place.
    fn body(&mut self) -> &mut Vec<u8>;

    /// Makes the body these bytes, which stay where they are until they are sent: for many that are there already. They
    /// are the same whenever they are asked for.
    fn lend(&mut self, body: Box<dyn AsRef<[u8]>>) {
        let body = (*body).as_ref();
        self.body().extend_from_slice(body);
    }

    /// Makes the body a file that the server sends, by its path in the project's folder. What the client has of it
    /// already, and which parts it wants, is the server's to find out.
    ///
    /// # Errors
    /// There is no such file, or no request that it could answer.
    fn file(&mut self, path: &str) -> Result<(), Error> {
        Err(Error::script(format!(
            "the file {path} cannot be sent here"
        )))
    }

    /// Makes the body a stream, sent chunk by chunk as it is produced.
    fn stream(&mut self, body: Box<dyn StreamedBody>);

    /// Takes note that the handler chose this answer, although it is empty: that it returned nothing is no mistake.
    fn chosen(&mut self) {}

    /// Forgets everything, so that another answer can be written.
    fn reset(&mut self);

    /// Copies what was written; `None` for streams and files.
    fn written(&self) -> Option<WholeAnswer> {
        None
    }
}

/// A body that is produced while it is sent.
pub trait StreamedBody {
    /// Its reader has gone: waits of the script fail with [`cancelled`](crate::engine::cancelled). The caller polls on
    /// and drops the chunks, until the end or until it has had its time. A body that no script produces needs nothing.
    fn cancel(&mut self) {}

    /// Takes note that its reader does something else before it polls on: time limits for a piece do not count until
    /// then. A body without such limits needs nothing.
    fn pause(&mut self) {}

    /// The next chunk, `None` at the end. After an error the connection is cut, so that the client cannot take what it
    /// got for the whole.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>>;
}

/// One piece of a body.
pub enum Chunk {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, which stay where they are until this is dropped. They are the same whenever they are asked for.
    Lent(Box<dyn AsRef<[u8]>>),
    /// These bytes, which are the script's again as soon as anything of it runs. What has not been sent by then must
    /// have been copied.
    LentBriefly(Box<dyn AsRef<[u8]>>),
}

impl Chunk {
    /// The bytes, copied where they are lent.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Lent(lender) | Self::LentBriefly(lender) => (*lender).as_ref().to_vec(),
        }
    }

    /// Returns the content for as long as it takes: copied where it was lent briefly.
    #[must_use]
    pub fn keep(self) -> Self {
        match self {
            Self::LentBriefly(_) => Self::Bytes(self.into_bytes()),
            kept => kept,
        }
    }
}

impl std::fmt::Debug for Chunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunk").finish_non_exhaustive()
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}
