//! What can answer a native route.

use crate::request::Request;
use crate::response::IntoResponse;
use sampan_app::{NativeAnswer, NativeHandler};
use std::sync::Arc;

/// The kind of handlers that answer at once.
#[derive(Debug)]
pub enum Plain {}

/// The kind of handlers that give a future.
#[derive(Debug)]
pub enum Async {}

/// A function that answers the requests of a route: from [`Request`] to what becomes a [`Response`](crate::Response), or to a future of
/// that. `Kind` tells the two apart; nobody needs to name it.
///
/// The future stays on the thread of its worker, so it may hold what cannot be sent. It is dropped when the client leaves, or when
/// `limits.handler_millis_max` has passed; then the client gets 504. A panic is answered 500 and logged.
pub trait IntoHandler<Kind>: Send + Sync + 'static {
    /// The handler as the server has it.
    #[doc(hidden)]
    fn into_handler(self) -> NativeHandler;
}

impl<F, R> IntoHandler<Plain> for F
where
    F: Fn(Request) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn into_handler(self) -> NativeHandler {
        Arc::new(move |request| {
            let answer = self(Request::new(request)).into_response();
            NativeAnswer::Now(answer.into_inner())
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
            let answer = self(Request::new(request));
            NativeAnswer::Later(Box::pin(async move {
                answer.await.into_response().into_inner()
            }))
        })
    }
}
