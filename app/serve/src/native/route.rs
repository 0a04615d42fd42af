//! Routes that the program answers, and what their handlers give.

use crate::native::request::NativeRequest;
use sampan_host::{LocalFuture, Place};
use sampan_http::{BodyRule, Response};
use std::fmt;
use std::sync::Arc;

/// Answers the requests of a native route, on the thread of the worker that received them.
pub type NativeHandler = Arc<dyn Fn(NativeRequest) -> NativeAnswer + Send + Sync>;

/// The answer of a native handler.
pub enum NativeAnswer {
    /// This.
    Now(Response),
    /// The answer when this future completes. It is dropped when the client leaves or `handler_millis_max` has passed.
    Later(LocalFuture<Response>),
}

impl fmt::Debug for NativeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(response) => f.debug_tuple("Now").field(response).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// A route that the program answers.
#[derive(Clone)]
pub struct NativeRoute {
    /// The method in capitals; `None` for all.
    pub method: Option<String>,
    /// The pattern, as routes of scripts have them: `/users/:id`, `/files/*rest`.
    pub pattern: String,
    /// The way the bodies of its requests are received. One that is streamed is read by [`NativeRequest::poll_body`].
    pub body: BodyRule,
    /// The handler of the route.
    pub handler: NativeHandler,
    /// The place of its declaration in the program, if that is known.
    pub place: Option<Place>,
}

impl NativeRoute {
    /// Returns the way it is told of in faults.
    pub fn name(&self) -> String {
        let method = self.method.as_deref().unwrap_or("ALL");
        format!("{method} {}", self.pattern)
    }
}

impl fmt::Debug for NativeRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeRoute").field(&self.name()).finish()
    }
}
