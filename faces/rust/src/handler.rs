//! The handlers of native routes.

use crate::request::Request;
use crate::response::IntoResponse;
use crate::stream::RequestBody;
use sampan_http::BodyRule;
use sampan_serve::native::{NativeAnswer, NativeHandler};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kind of handlers that answer at once.
#[derive(Debug)]
pub enum Plain {}

/// The kind of handlers that give a future.
#[derive(Debug)]
pub enum Async {}

/// The kind of handlers that read the body of their request as it arrives.
#[derive(Debug)]
pub enum Streaming {}

/// The kind of handlers with a limit of their own.
#[derive(Debug)]
pub struct Limited<Kind>(PhantomData<Kind>);

/// A function that answers the requests of a route: from [`Request`] to what becomes a [`Response`](crate::Response)
/// (see the table of [`IntoResponse`]), or to a future of that. `Kind` tells the two apart; programs need not name it.
/// It is called when the request has arrived with all of its body. One that also takes a [`RequestBody`] is called
/// before the body has arrived, and gives a future.
///
/// The future stays on the thread of its worker, so it may hold what cannot be sent. It is dropped when the client
/// leaves, or when
/// `limits.handler_millis_max` has passed; then the client gets 504. A panic is answered 500 and logged.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    note = "a handler is a function from Request, or from Request and RequestBody, that is Send, Sync and 'static",
    note = "it returns what becomes an answer, or a future of that: see the table of sampan::IntoResponse"
)]
pub trait IntoHandler<Kind>: Send + Sync + 'static {
    /// The handler as the server has it.
    #[doc(hidden)]
    fn into_handler(self) -> NativeHandler;

    /// Returns the rule for reading the bodies of its requests.
    #[doc(hidden)]
    fn body_rule(&self) -> BodyRule {
        BodyRule::default()
    }
}

impl<F, R> IntoHandler<Plain> for F
where
    F: Fn(Request) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn into_handler(self) -> NativeHandler {
        Arc::new(move |request| {
            let answer = self(Request::new(request.clone())).into_response();
            NativeAnswer::Now(answer.answered(&request))
        })
    }
}

impl<F, A, R> IntoHandler<Async> for F
where
    F: Fn(Request) -> A + Send + Sync + 'static,
    A: Future<Output = R> + 'static,
    R: IntoResponse,
{
    fn into_handler(self) -> NativeHandler {
        Arc::new(move |request| {
            let answer = self(Request::new(request.clone()));
            NativeAnswer::Later(Box::pin(async move {
                answer.await.into_response().answered(&request)
            }))
        })
    }
}

impl<F, A, R> IntoHandler<Streaming> for F
where
    F: Fn(Request, RequestBody) -> A + Send + Sync + 'static,
    A: Future<Output = R> + 'static,
    R: IntoResponse,
{
    fn into_handler(self) -> NativeHandler {
        Arc::new(move |request| {
            let body = RequestBody::new(request.clone());
            let answer = self(Request::new(request.clone()), body);
            NativeAnswer::Later(Box::pin(async move {
                answer.await.into_response().answered(&request)
            }))
        })
    }

    fn body_rule(&self) -> BodyRule {
        BodyRule {
            bytes_max: None,
            is_streamed: true,
        }
    }
}

/// A handler of [`body_bytes_max`].
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit<H> {
    handler: H,
    bytes_max: usize,
}

/// Returns the handler with another limit for the bodies of its requests than `limits.body_bytes_max`, in bytes. A
/// larger body is answered 413; where
/// the handler reads it as it arrives, its reader gets an error that answers so.
///
/// ```
/// # use sampan::{App, Request, body_bytes_max};
/// let app = App::new().post("/photo", body_bytes_max(20 << 20, |request: Request| {
///     format!("{} bytes", request.body().len())
/// }));
/// # drop(app);
/// ```
pub fn body_bytes_max<H>(bytes_max: usize, handler: H) -> BodyLimit<H> {
    BodyLimit { handler, bytes_max }
}

impl<Kind, H: IntoHandler<Kind>> IntoHandler<Limited<Kind>> for BodyLimit<H> {
    fn into_handler(self) -> NativeHandler {
        self.handler.into_handler()
    }

    fn body_rule(&self) -> BodyRule {
        BodyRule {
            bytes_max: Some(self.bytes_max),
            ..self.handler.body_rule()
        }
    }
}
