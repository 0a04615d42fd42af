//! The additions of the program that Sampan is a part of: routes of its own, and values for capabilities.

use crate::capabilities;
use sampan_host::{Context, Module};
use sampan_serve::native::NativeRoute;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Puts values into the context of each isolate before its script runs.
pub type ContextSetup = Arc<dyn Fn(&Context) + Send + Sync>;

/// Tells a program of errors that its scripts do not await: it puts this into the context of each isolate.
#[derive(Clone, Debug, Default)]
pub struct UnawaitedErrors(Arc<AtomicBool>);

impl UnawaitedErrors {
    /// Reports whether there was one.
    pub fn has_any(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Release);
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

/// The capabilities of Sampan and further ones, for [`ProgramParts::modules`](crate::ProgramParts::modules). Equal
/// lists share their memory, which lives as long as the process.
pub fn modules_with(own: &[&'static Module]) -> &'static [&'static Module] {
    if own.is_empty() {
        return capabilities::modules();
    }
    let all = capabilities::modules().iter().chain(own);
    capabilities::kept_list(all.copied().collect())
}
