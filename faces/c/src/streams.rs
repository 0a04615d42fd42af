//! Answers that the program writes piece by piece, from any thread, at the pace at which the client takes them.

use crate::handles::{HandleKind, Handles};
use crate::requests::{checked, give, is_in_callback, pairs, sampan_response};
use crate::status::{
    CallFault, SAMPAN_ERROR_GONE, SAMPAN_ERROR_INTERNAL, SAMPAN_OK, SAMPAN_TIMEOUT, protect_plain,
    sampan_status,
};
use crate::text;
use sampan_http::{BodyError, BodyStream, Chunk};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// An answer that is being written: a number. 0 is never one.
pub type sampan_stream = u64;

/// While so many bytes wait for the client, further writes wait too.
const WAITING_BYTES_MAX: usize = 256 * 1024;

static STREAMS: Handles<Arc<Pipe>> = Handles::new(HandleKind::Stream);

/// The state shared by the program and the worker of the client share.
#[derive(Default)]
pub(crate) struct Pipe {
    state: Mutex<PipeState>,
    /// Room for more, or no client.
    changed: Condvar,
}

#[derive(Default)]
struct PipeState {
    pieces: VecDeque<Vec<u8>>,
    /// Of all pieces.
    bytes: usize,
    /// Set once nothing comes behind the pieces, to whether the answer is whole then.
    end: Option<bool>,
    is_gone: bool,
    /// The task of the client, while it waits.
    reader: Option<Waker>,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a piece, as soon as there is room.
    fn write(&self, piece: &[u8], timeout_millis: i64) -> sampan_status {
        let time_max = u64::try_from(timeout_millis).ok();
        let until =
            time_max.and_then(|millis| Instant::now().checked_add(Duration::from_millis(millis)));
        let mut state = self.lock();
        while !state.is_gone && state.bytes >= WAITING_BYTES_MAX {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return SAMPAN_TIMEOUT,
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        if state.is_gone {
            return SAMPAN_ERROR_GONE;
        }
        if !piece.is_empty() {
            state.bytes += piece.len();
            state.pieces.push_back(piece.to_vec());
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        SAMPAN_OK
    }

    fn end(&self, is_whole: bool) -> sampan_status {
        let mut state = self.lock();
        state.end = Some(is_whole);
        let (is_gone, reader) = (state.is_gone, state.reader.take());
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        if is_gone {
            SAMPAN_ERROR_GONE
        } else {
            SAMPAN_OK
        }
    }
}

/// The end of it from which the client is served. Once it is dropped, the answer has no reader.
pub(crate) struct PipeReader(Arc<Pipe>);

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_gone = true;
        state.pieces.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

/// The body of an answer, on the worker of its client.
pub(crate) struct PipeBody {
    reader: PipeReader,
    /// Called if the client leaves before the end.
    on_gone: Option<Box<dyn FnOnce()>>,
}

impl PipeBody {
    pub(crate) fn new(reader: PipeReader, on_gone: Box<dyn FnOnce()>) -> Self {
        let on_gone = Some(on_gone);
        Self { reader, on_gone }
    }
}

impl BodyStream for PipeBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let pipe = &self.reader.0;
        let mut state = pipe.lock();
        if let Some(piece) = state.pieces.pop_front() {
            state.bytes -= piece.len();
            drop(state);
            pipe.changed.notify_all();
            return Poll::Ready(Some(Ok(Chunk::Bytes(piece))));
        }
        match state.end {
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(is_whole) => {
                self.on_gone = None;
                let cut = || BodyError("the program has given it up".into());
                Poll::Ready((!is_whole).then(|| Err(cut())))
            }
        }
    }
}

impl Drop for PipeBody {
    fn drop(&mut self) {
        if let Some(on_gone) = self.on_gone.take() {
            on_gone();
        }
    }
}

/// Answers a request as sampan_answer does, and goes on with the body: it begins with that of *response, and
/// sampan_stream_write adds to it.
/// *stream is the answer's number, which is to be given to sampan_stream_end once, also after errors. It is 0 if this
/// fails.
///
/// Errors: as sampan_answer.
///
/// # Safety
/// All memory behind `response` must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_answer_begin(
    request: u64,
    response: *const sampan_response,
    stream: *mut sampan_stream,
) -> sampan_status {
    protect_plain(|| {
        // SAFETY: the caller owns `stream` and keeps `response` alive during the call; each may be NULL.
        let (mut stream, response) = unsafe { (text::place(stream, "stream")?, response.as_ref()) };
        stream.write(0);
        let response = response.ok_or_else(|| CallFault::argument("response is NULL"))?;
        // SAFETY: the caller keeps the response's body and headers alive during the call.
        let (headers, begins) = unsafe {
            let body = text::slice(response.body.cast::<u8>(), response.body_len, "body")?;
            (pairs(response.headers, response.header_count)?, body)
        };
        let mut answer = checked(response.status, &headers, Vec::new())?;
        let pipe = Arc::<Pipe>::default();
        pipe.write(begins, 0);
        answer.stream = Some(PipeReader(Arc::clone(&pipe)));
        let full = || CallFault::new(SAMPAN_ERROR_INTERNAL, "there are too many streams");
        let made = STREAMS.insert(0, pipe).ok_or_else(full)?;
        let status = give(request, answer);
        if status == SAMPAN_OK {
            stream.write(made);
        } else {
            // The number is still unknown outside.
            let _ = STREAMS.remove(made);
        }
        Ok(status)
    })
}

/// Adds to the body of an answer. While a quarter of a megabyte waits for the client, this waits too, at most
/// timeout_millis: -1 is for ever, 0 not at all, as in a callback. Any thread; of several that write at the same time,
/// none knows which is first. With no bytes it reports whether the client still reads.
///
/// Gives SAMPAN_TIMEOUT: nothing was added. SAMPAN_ERROR_GONE: it has no reader, as the client has left, has asked with
/// HEAD, or got nothing for limits.stream_idle_millis_max. SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `bytes` points to `len` bytes that stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_stream_write(
    stream: sampan_stream,
    bytes: *const c_void,
    len: usize,
    timeout_millis: i64,
) -> sampan_status {
    protect_plain(|| {
        let pipe = STREAMS
            .get(stream)
            .map_err(|_| CallFault::handle("stream"))?;
        // SAFETY: `bytes` points to `len` bytes that stay as they are during the call, by this function's contract.
        let piece: &[u8] = unsafe { text::slice(bytes.cast(), len, "bytes") }?;
        // A callback holds up the worker that would make room.
        let timeout_millis = if is_in_callback() { 0 } else { timeout_millis };
        Ok(pipe.write(piece, timeout_millis))
    })
}

/// Ends the body of an answer. With is_whole 0 the connection is cut, so that the client sees that something is
/// missing, and the log says so. The number stands for nothing from then on: ending again is SAMPAN_ERROR_HANDLE.
/// SAMPAN_ERROR_GONE: the client did not read to the end.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_stream_end(stream: sampan_stream, is_whole: i32) -> sampan_status {
    protect_plain(|| {
        let removed = STREAMS.remove(stream);
        let pipe = removed.map_err(|_| CallFault::handle("stream"))?;
        Ok(pipe.end(is_whole != 0))
    })
}
