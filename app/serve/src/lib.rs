//! From a request to its answer: routes, guards and middleware, the run of the script, files, compression, and when the
//! answer may leave.
//!
//! [`Loaded`] is a project on one worker and [`Dispatch`] the handler that answers with it. The capabilities and the
//! engines are known here by their traits alone.

pub mod admission;
mod answer;
mod compression;
mod dispatch;
mod events;
pub mod fetch;
pub mod files;
mod gate;
pub mod lane;
pub mod native;
mod processor_time;
mod request;
pub mod routing;
mod sockets;

pub use answer::error_log::log_of;
pub use answer::errors::prefers_page;
pub use compression::{Compression, SECTION as COMPRESSION};
pub use dispatch::apart::answering::answer_apart;
pub use dispatch::build::check_native_routes;
pub use dispatch::dispatch::{AllocatorFunctions, Dispatch, allocator, set_allocator};
pub use dispatch::loaded::Loaded;
pub use gate::commit_gate::{Gate, Visit};
pub use gate::control::{Control, ErrorPages, StreamsEnd};
pub use gate::run_use::RunKind;
pub use request::early_hints::MODULE as EARLY_HINTS;
pub use request::id::Ids;
pub use request::meters::WorkerMeters;
pub use request::observers::{FailureObserver, Observers};
pub use request::proxies::{TrustedProxy, is_trusted};
pub use request::record::{Record, RequestTrace, Statements};
pub use request::request_view::View;
pub use request::tls::{MODULE as REQUEST_TLS, kept as kept_tls};
pub use sockets::Serving;
