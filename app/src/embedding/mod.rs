//! Sampan inside of another program: routes that the program answers itself, and what it gives the capabilities of
//! scripts.
//!
//! A [`NativeRoute`] stands in the same tree as the routes of scripts. Guards check its requests like any others. Where
//! middleware of the script matches its path, that runs first, as it does around a file: what `next` gives there stands
//! for the answer to come, and the native handler runs once the middleware has returned it. Middleware that returns
//! something else answers in its place.

mod answer;
mod request;
mod stream;

pub(crate) use answer::ChainEnd;
pub use request::NativeRequest;

use crate::config::{Config, Flags};
use crate::project::Project;
use sampan_host::{Context, LocalFuture, Module, Place};
use sampan_http::{BodyRule, Response};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers the requests of a native route, on the thread of the worker that received them.
pub type NativeHandler = Arc<dyn Fn(NativeRequest) -> NativeAnswer + Send + Sync>;

/// Puts values into the context of each isolate before its script runs.
pub type ContextSetup = Arc<dyn Fn(&Context) + Send + Sync>;

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
    pub(crate) fn name(&self) -> String {
        let method = self.method.as_deref().unwrap_or("ALL");
        format!("{method} {}", self.pattern)
    }
}

impl fmt::Debug for NativeRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeRoute").field(&self.name()).finish()
    }
}

/// The additions of a program to a server.
#[derive(Clone, Default)]
pub struct Embedding {
    /// The routes of the program.
    pub routes: Vec<NativeRoute>,
    /// The values for the contexts of its own capabilities.
    pub contexts: Vec<ContextSetup>,
}

impl Embedding {
    /// Gives the capabilities of an isolate what the program keeps for them.
    pub(crate) fn put_into(&self, context: &Context) {
        for put in &self.contexts {
            put(context);
        }
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes: Vec<String> = self.routes.iter().map(NativeRoute::name).collect();
        f.debug_struct("Embedding")
            .field("routes", &routes)
            .field("contexts", &self.contexts.len())
            .finish()
    }
}

/// The capabilities of Sampan and further ones, for [`Config::modules`]. Equal lists share their memory, which lives as
/// long as the process.
pub fn modules_with(own: &[&'static Module]) -> &'static [&'static Module] {
    static KNOWN: Mutex<Vec<&'static [&'static Module]>> = Mutex::new(Vec::new());
    if own.is_empty() {
        return crate::MODULES;
    }
    let all: Vec<&'static Module> = crate::MODULES.iter().chain(own).copied().collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |list: &&&'static [&'static Module]| {
        list.len() == all.len() && list.iter().zip(&all).all(|(a, b)| std::ptr::eq(*a, *b))
    };
    if let Some(list) = known.iter().find(is_same) {
        return list;
    }
    let list: &'static [&'static Module] = all.leak();
    known.push(list);
    list
}

impl Config {
    /// The configuration of a server with routes of the program alone: the flags, and the file that they name. Nothing
    /// is read from or written to the current folder.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn without_project(flags: &Flags) -> Result<Self, String> {
        let mut config = Self::in_memory(Project::none(), flags)?;
        // No script can ask for it, so it is never opened.
        config.db.path = ":memory:".into();
        config.migrate = false;
        Ok(config)
    }
}
