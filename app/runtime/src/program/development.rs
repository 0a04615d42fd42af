//! The additions of a program in which a project is developed: pages about errors, and a handler before the project's.

use sampan_http::{Handler, HandlerSlot};
use sampan_project::Project;
use sampan_serve::{Dispatch, ErrorPages};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The additions to each worker of a server for development. Shared by all workers, over all reloads.
pub trait Development: fmt::Debug + Send + Sync {
    /// Returns the handler of a worker, before `inner`: the answers about the server itself, and the project's own by
    /// `dispatch`.
    fn handler(self: Arc<Self>, dispatch: Rc<Dispatch>, inner: Rc<dyn Handler>) -> HandlerSlot;

    /// Returns the answers to requests that fail, for one generation of the project.
    fn error_pages(self: Arc<Self>, project: &Project) -> Box<dyn ErrorPages>;
}
