//! One TLS connection without its socket: records come in and go out as bytes.
//!
//! It owns a buffer only while it holds a part of a record, or records that the socket has not taken.

use std::io;
use std::sync::Arc;

use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};

use crate::driver::output::Plaintext;
use crate::driver::pool::{BufferPool, RECORDS_BYTES};
use crate::tls::{AskedName, TlsInfo, ends_with_handshake};

/// The most plaintext of one record (RFC 8446 section 5.1).
const PLAIN_BYTES_MAX: usize = 16 * 1024;

/// The most that a record which is made here is longer than its plaintext: header, nonce, tag, type, and an answer to a
/// change of keys before it.
const RECORD_EXTRA_BYTES: usize = 256;

/// The free space of a buffer below which a larger one is taken for the next bytes.
const SPACE_BYTES_MIN: usize = 4 * 1024;

/// Less than this part of a buffer is moved out of it while its connection waits.
const SPARSE_PART: usize = 2;

/// Takes plaintext, and returns how many bytes it has taken. What it leaves is kept.
pub(super) type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> usize;

pub(super) struct TlsSession {
    tls: UnbufferedServerConnection,
    asked: Arc<AskedName>,
    /// Records that are not whole yet: `received_len` bytes of a buffer.
    received: Vec<u8>,
    received_len: usize,
    /// Plaintext that the connection had no room for, from `plain_taken` on.
    plain: Vec<u8>,
    plain_taken: usize,
    /// Records for the client: `sending_len` bytes of a buffer, of which the socket has taken `sent`.
    sending: Vec<u8>,
    sending_len: usize,
    sent: usize,
    /// The bytes of the output that these records stand for.
    sending_plain: usize,
    /// No byte has come yet.
    is_fresh: bool,
    /// The client sends nothing more.
    has_ended: bool,
    /// The socket has ended without a word of the client.
    is_cut_off: bool,
    end: SessionEnd,
}

/// The state of our end of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    Open,
    /// Told to the client, in the records to be sent.
    Told,
    /// Never to be told: what the client has got is not whole.
    Untold,
    /// The client has made a fault, of which an alert tells it. Nothing works any more.
    Failed,
}

impl TlsSession {
    pub(super) fn new(tls: UnbufferedServerConnection, asked: Arc<AskedName>) -> Self {
        Self {
            tls,
            asked,
            received: Vec::new(),
            received_len: 0,
            plain: Vec::new(),
            plain_taken: 0,
            sending: Vec::new(),
            sending_len: 0,
            sent: 0,
            sending_plain: 0,
            is_fresh: true,
            has_ended: false,
            is_cut_off: false,
            end: SessionEnd::Open,
        }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Reports whether the client wanted nothing but the handshake, after it.
    pub(super) fn ends_with_handshake(&self) -> bool {
        ends_with_handshake(&self.tls)
    }

    /// The facts that the handshake has settled, after it.
    pub(super) fn info(&self) -> TlsInfo {
        self.asked.info(&self.tls)
    }

    /// Reports whether something is there to be read without the socket: plaintext, or the end.
    pub(super) fn is_readable(&self) -> bool {
        self.has_plain() || self.has_ended
    }

    /// Reports whether no byte has come yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Reports whether nothing is in hand: no byte for or from the client, and no end.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.is_handshaking()
            && !self.is_readable()
            && self.received_len == 0
            && !self.is_sending()
            && self.end == SessionEnd::Open
    }

    pub(super) fn has_plain(&self) -> bool {
        !self.plain.is_empty()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Notes that the socket has ended before the session.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.is_cut_off = true;
    }

    /// Reports whether the socket has ended before the session.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Bytes received that are not a whole record yet.
    pub(super) fn received(&self) -> &[u8] {
        &self.received[..self.received_len]
    }

    /// The space for the next bytes of the socket.
    pub(super) fn space(&mut self, pool: &BufferPool) -> &mut [u8] {
        if self.received.len() - self.received_len < SPACE_BYTES_MIN {
            if self.received_len + SPACE_BYTES_MIN > RECORDS_BYTES {
                // A message of the handshake may be longer than a buffer; rustls limits it.
                self.received.resize(self.received_len + RECORDS_BYTES, 0);
            } else {
                let mut larger = pool.records();
                larger[..self.received_len].copy_from_slice(self.received());
                self.received = larger;
            }
        }
        &mut self.received[self.received_len..]
    }

    /// Takes note that `len` bytes were put into the space.
    pub(super) fn commit(&mut self, len: usize) {
        self.is_fresh = false;
        self.received_len += len;
    }

    /// Leaves the large buffer to others while the client sends nothing more.
    pub(super) fn rest(&mut self, pool: &BufferPool) {
        if self.received_len < self.received.len() / SPARSE_PART {
            let small = self.received().to_vec();
            pool.give_records(std::mem::replace(&mut self.received, small));
        }
    }

    /// Takes plaintext that is kept.
    pub(super) fn take_plain(&mut self, sink: Sink<'_>) -> usize {
        let len = sink(&self.plain[self.plain_taken..]);
        self.plain_taken += len;
        if self.plain_taken == self.plain.len() {
            self.plain = Vec::new();
            self.plain_taken = 0;
        }
        len
    }

    /// Works on the bytes received. Returns how many bytes of plaintext `sink` has taken.
    ///
    /// # Errors
    /// The fault of the client, for which an alert is to be sent.
    pub(super) fn process(&mut self, sink: Sink<'_>) -> Result<usize, rustls::Error> {
        let mut start = 0;
        let mut taken = 0;
        let result = loop {
            let records = &mut self.received[start..self.received_len];
            let UnbufferedStatus { discard, state } = self.tls.process_tls_records(records);
            start += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        start += record.discard;
                        // In order: nothing passes plaintext that is kept.
                        let len = if self.plain.is_empty() {
                            sink(record.payload)
                        } else {
                            0
                        };
                        taken += len;
                        self.plain.extend_from_slice(&record.payload[len..]);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    append(data, &mut self.sending, &mut self.sending_len);
                }
                // They are kept until the socket takes them.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(
                    ConnectionState::BlockedHandshake
                    | ConnectionState::WriteTraffic(_)
                    | ConnectionState::Closed,
                ) => break Ok(taken),
                // Early data is not accepted.
                Ok(_) => break Err(rustls::Error::General("unexpected state".to_owned())),
                Err(error) => break Err(error),
            }
        };
        if self.has_ended || result.is_err() {
            self.received_len = 0;
        } else if start > 0 {
            self.received.copy_within(start..self.received_len, 0);
            self.received_len -= start;
        }
        if result.is_err() {
            self.has_ended = true;
            self.end = SessionEnd::Failed;
            self.collect_alert();
        }
        result
    }

    /// Takes the alert about a fault, to be sent. Only what rustls has to say may be asked for: it may still keep the
    /// places of messages in bytes that are gone.
    fn collect_alert(&mut self) {
        while self.tls.wants_write() {
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(&mut []);
            let Ok(ConnectionState::EncodeTlsData(data)) = state else {
                return;
            };
            append(data, &mut self.sending, &mut self.sending_len);
        }
    }

    /// Makes records of the next bytes of the output, as many as fit a buffer. None are made while earlier ones are
    /// under way. Returns how many bytes the records stand for that are to be sent now.
    ///
    /// # Errors
    /// Of a file that is a part of the output; the keys are used up.
    pub(super) fn encrypt(
        &mut self,
        output: &(impl Plaintext + ?Sized),
        pool: &BufferPool,
    ) -> io::Result<usize> {
        if self.sent > 0 || self.sending_plain > 0 || output.is_empty() {
            return Ok(self.sending_plain);
        }
        if self.end == SessionEnd::Failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.sending.len() < RECORDS_BYTES {
            let mut larger = pool.records();
            larger[..self.sending_len].copy_from_slice(&self.sending[..self.sending_len]);
            self.sending = larger;
        }
        let mut space = if output.has_file() {
            pool.records()
        } else {
            Vec::new()
        };
        let made = self.encrypt_pieces(output, &mut space);
        pool.give_records(space);
        made.map(|()| self.sending_plain)
    }

    fn encrypt_pieces(
        &mut self,
        output: &(impl Plaintext + ?Sized),
        space: &mut [u8],
    ) -> io::Result<()> {
        while self.sending.len() - self.sending_len >= PLAIN_BYTES_MAX + RECORD_EXTRA_BYTES {
            let piece = output.piece(self.sending_plain, space)?;
            let piece = &piece[..piece.len().min(PLAIN_BYTES_MAX)];
            if piece.is_empty() {
                break;
            }
            let records = &mut self.received[..self.received_len];
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(records);
            let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            let len = traffic.encrypt(piece, &mut self.sending[self.sending_len..]);
            self.sending_len += len.map_err(io::Error::other)?;
            self.sending_plain += piece.len();
        }
        Ok(())
    }

    /// Says that nothing more is sent (RFC 8446 section 6.1). Returns true if there is something to be sent for that.
    pub(super) fn close(&mut self) -> bool {
        if self.end != SessionEnd::Open || self.is_handshaking() {
            return false;
        }
        self.end = SessionEnd::Told;
        let records = &mut self.received[..self.received_len];
        let UnbufferedStatus { state, .. } = self.tls.process_tls_records(records);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else {
            return false;
        };
        let needed = self.sending_len + RECORD_EXTRA_BYTES;
        if self.sending.len() < needed {
            self.sending.resize(needed, 0);
        }
        match traffic.queue_close_notify(&mut self.sending[self.sending_len..]) {
            Ok(len) => self.sending_len += len,
            Err(_) => return false,
        }
        true
    }

    /// Lets the session end without a word, so that the client sees that what it has got is not whole.
    pub(super) fn cut(&mut self) {
        if self.end == SessionEnd::Open {
            self.end = SessionEnd::Untold;
        }
    }

    /// Reports whether records wait for the socket.
    pub(super) fn is_sending(&self) -> bool {
        self.sending_len > 0
    }

    /// The records for the socket.
    pub(super) fn sending(&self) -> &[u8] {
        &self.sending[self.sent..self.sending_len]
    }

    /// The memory that waits for the client.
    pub(super) fn held_bytes(&self) -> usize {
        self.sending.len()
    }

    /// Takes note that the socket has taken `len` bytes. Returns how many bytes of the output are sent with that: those
    /// of all records, once the last of them is.
    pub(super) fn consume(&mut self, len: usize, pool: &BufferPool) -> usize {
        self.sent += len;
        if self.sent < self.sending_len {
            return 0;
        }
        self.sent = 0;
        self.sending_len = 0;
        pool.give_records(std::mem::take(&mut self.sending));
        std::mem::take(&mut self.sending_plain)
    }
}

/// Appends a message of rustls's own.
fn append<Data>(mut data: EncodeTlsData<'_, Data>, out: &mut Vec<u8>, out_len: &mut usize) {
    let mut written = data.encode(&mut out[*out_len..]);
    if let Err(EncodeError::InsufficientSize(needed)) = &written {
        out.resize(*out_len + needed.required_size, 0);
        written = data.encode(&mut out[*out_len..]);
    }
    // It has room now, and is encoded once.
    *out_len += written.unwrap_or_default();
}
