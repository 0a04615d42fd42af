//! Requests to other servers, as capabilities and the server share them.
//!
//! The server has the connections: it resolves names, connects, and moves bytes ([`Fetcher`]). A capability has the
//! script's side: it makes a [`FetchRequest`] of what a script passes, calls [`start`], and gives the script the
//! [`FetchAnswer`]. Neither knows the other. Everything stays on the worker's thread.
//!
//! A request is given up by dropping the future of [`start`], and an answer by dropping its body.

mod fault;
mod traced;
mod upload;

pub use fault::FetchFault;
pub use upload::Upload;

use crate::error::{Error, ErrorKind};
use crate::future::LocalFuture;
use crate::offers::effects::Effects;
use crate::response::StreamedBody;
use crate::run::current_run::CurrentRun;
use crate::run::outbox::Verdict;
use crate::tables::module::Context;
use std::rc::Rc;

/// Field lines of a request or an answer: names and values. Those of answers have names in lower case.
pub type FieldLines = Vec<(Box<[u8]>, Box<[u8]>)>;

/// A request to another server.
pub struct FetchRequest {
    /// The method, as it is sent. Any token but `CONNECT`.
    pub method: String,
    /// The URL: `http` or `https`, absolute. Its fragment is not sent.
    pub url: String,
    /// The field lines. Those that frame the message (`content-length`, `transfer-encoding`, `connection`) are the
    /// client's, which drops them. `host`, `accept`, `accept-encoding` and `user-agent` replace its own.
    pub fields: FieldLines,
    /// The body.
    pub body: FetchBody,
    /// The options.
    pub options: FetchOptions,
}

/// The body of a request.
pub enum FetchBody {
    /// No body.
    None,
    /// These bytes. They are sent again after a redirect that keeps the method.
    Bytes(Vec<u8>),
    /// A stream, see [`Upload`].
    Stream {
        /// The pieces. It is polled on the worker, outside of any run of the script.
        body: Box<dyn StreamedBody>,
        /// The number of bytes, if it is known; the request fails if the stream has others.
        length: Option<u64>,
    },
}

/// The options of a request. `None` stands for the value in `[fetch]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchOptions {
    /// The longest time until a connection is there, its name lookup and TLS included.
    pub connect_millis_max: Option<u64>,
    /// The longest time from a connection to the end of the answer's head. An upload that goes on lengthens it.
    pub head_millis_max: Option<u64>,
    /// The longest time from the start to the last byte of the answer; 0 for no limit.
    pub total_millis_max: Option<u64>,
    /// The longest time between two pieces of a body, in either direction. The time in which the script does not read
    /// does not count.
    pub idle_millis_max: Option<u64>,
    /// The most bytes of the answer's body, after it was decompressed; 0 for no limit.
    pub answer_bytes_max: Option<u64>,
    /// The treatment of redirects.
    pub redirect: RedirectMode,
    /// True to get the body of a compressed answer as it was sent, with the field that says how.
    pub keeps_coding: bool,
}

/// The treatment of answers that redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectMode {
    /// They are followed.
    #[default]
    Follow,
    /// They are answers.
    Manual,
    /// They are errors.
    Error,
}

/// The answer of another server, once its head is there.
pub struct FetchAnswer {
    /// The status, 200 to 599.
    pub status: u16,
    /// The reason phrase; empty over HTTP/2.
    pub status_text: String,
    /// The field lines in their order. Where a body was decompressed, `content-encoding` and `content-length` are
    /// left out.
    pub fields: FieldLines,
    /// The URL that answered, without fragment.
    pub url: String,
    /// True if it is another than that of the request.
    pub is_redirected: bool,
    /// The body; `None` where there cannot be one: a request with HEAD, the statuses 204, 205 and 304.
    ///
    /// Pieces come as they arrive, and nothing is received while no piece is asked for, beyond a small buffer. Its
    /// errors are those of a [`FetchFault`].
    pub body: Option<Box<dyn StreamedBody>>,
}

/// Sends requests, for the isolates of one worker. It is in their [`Context`] as `Rc<dyn Fetcher>`.
pub trait Fetcher {
    /// Sends a request and gives the head of its answer, at once: [`start`] is for scripts.
    ///
    /// # Errors
    /// Those of a [`FetchFault`], by their code.
    fn fetch(&self, request: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>>;
}

/// Sends the request of a script once everything that it may depend on is committed. A group of writes is committed
/// when the script waits for this future, which goes on in a later run.
///
/// # Errors
/// As for [`Fetcher::fetch`]; or what the script wrote is lost, or is in a transaction that is open.
pub fn start(
    context: &Context,
    mut request: FetchRequest,
) -> LocalFuture<Result<FetchAnswer, Error>> {
    let begun = fetcher(context).and_then(|fetcher| Ok((fetcher, settled(context)?)));
    let trace = context.get::<CurrentRun>().and_then(|run| run.trace());
    let span = trace.map(|trace| traced::begin(&trace, &mut request));
    Box::pin(async move {
        let (fetcher, settled) = begun?;
        if let Some(settled) = settled
            && settled.await == Verdict::Failed
        {
            return Err(not_committed());
        }
        let answer = fetcher.fetch(request).await;
        if let Some(span) = span {
            traced::end(span, &answer);
        }
        answer
    })
}

fn fetcher(context: &Context) -> Result<Rc<dyn Fetcher>, Error> {
    let fetcher = context.get::<Rc<dyn Fetcher>>();
    let fetcher = fetcher.ok_or_else(|| Error::script("requests cannot be sent here"))?;
    Ok(Rc::clone(&fetcher))
}

fn effects(context: &Context) -> Result<Effects, Error> {
    Effects::of(context).ok_or_else(|| Error::new(ErrorKind::Internal, "no outbox"))
}

/// Returns what waits until the writes are committed that the running script may have seen; `None` without any.
fn settled(context: &Context) -> Result<Option<LocalFuture<Verdict>>, Error> {
    let effects = effects(context)?;
    let request = context
        .get::<CurrentRun>()
        .and_then(|current| current.request());
    if !effects.are_held(request.as_ref())? {
        return Ok(None);
    }
    if effects.are_in_transaction(request.as_ref())? {
        return Err(Error::script(
            "fetch inside of db.transaction would wait for the transaction's own end: call it before or after",
        ));
    }
    effects.settled(request.as_ref()).map(Some)
}

#[cold]
fn not_committed() -> Error {
    let text = "what this request wrote could not be committed: nothing is sent";
    Error::new(ErrorKind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outbox::Outbox;
    use std::cell::Cell;
    use std::task::{Context as Poller, Poll, Waker};

    #[derive(Default)]
    struct Counting(Cell<u32>);

    impl Fetcher for Counting {
        fn fetch(&self, request: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
            self.0.set(self.0.get() + 1);
            Box::pin(async move {
                Ok(FetchAnswer {
                    status: 204,
                    status_text: String::new(),
                    fields: Vec::new(),
                    url: request.url,
                    is_redirected: false,
                    body: None,
                })
            })
        }
    }

    fn request() -> FetchRequest {
        FetchRequest {
            method: "GET".to_owned(),
            url: "http://example.com/".to_owned(),
            fields: Vec::new(),
            body: FetchBody::None,
            options: FetchOptions::default(),
        }
    }

    fn setup() -> (Context, Outbox, Rc<Counting>) {
        let (context, outbox) = (Context::default(), Outbox::default());
        let counting = Rc::new(Counting::default());
        context.put(Rc::clone(&counting) as Rc<dyn Fetcher>);
        context.put(outbox.clone());
        (context, outbox, counting)
    }

    #[test]
    fn a_request_leaves_after_the_commit() {
        let (context, outbox, counting) = setup();
        outbox.open();
        let mut fetching = start(&context, request());
        let mut cx = Poller::from_waker(Waker::noop());
        assert!(fetching.as_mut().poll(&mut cx).is_pending());
        assert_eq!(counting.0.get(), 0, "it left before the commit");
        outbox.settle(Verdict::Committed);
        // The next group holds nothing that was begun before it.
        outbox.open();
        assert!(matches!(
            fetching.as_mut().poll(&mut cx),
            Poll::Ready(Ok(_))
        ));
        assert_eq!(counting.0.get(), 1);
    }

    #[test]
    fn a_request_that_depends_on_lost_writes_is_not_sent() {
        let (context, outbox, counting) = setup();
        outbox.open();
        let mut fetching = start(&context, request());
        let mut cx = Poller::from_waker(Waker::noop());
        assert!(fetching.as_mut().poll(&mut cx).is_pending());
        outbox.settle(Verdict::Failed);
        let Poll::Ready(Err(error)) = fetching.as_mut().poll(&mut cx) else {
            panic!("it was sent");
        };
        assert!(error.message().contains("nothing is sent"), "{error}");
        assert_eq!(counting.0.get(), 0);
    }

    #[test]
    fn a_request_of_a_part_that_is_rolled_back_is_not_sent() {
        let (context, outbox, counting) = setup();
        outbox.open();
        let before = outbox.held();
        let mut fetching = start(&context, request());
        outbox.take_back(before);
        outbox.settle(Verdict::Committed);
        let mut cx = Poller::from_waker(Waker::noop());
        assert!(matches!(
            fetching.as_mut().poll(&mut cx),
            Poll::Ready(Err(_))
        ));
        assert_eq!(counting.0.get(), 0, "it left with the rest of the group");
    }
}
