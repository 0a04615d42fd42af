//! Traces: `[trace]`, `app.trace` for scripts, and the thread that sends spans to a collector (OTLP over HTTP, JSON).
//!
//! The worker's tracer records spans ([`sampan_host::trace`]). Finished spans of all workers meet in one queue
//! with a limit, and workers never wait for it.

mod capability;
mod exporter;
mod limits;
mod otlp;
mod queue;
mod rows;
mod settings;

pub use capability::CAPABILITY;
pub use exporter::{Exporter, MakeFetcher};
pub use settings::{SECTION, TraceSettings};
