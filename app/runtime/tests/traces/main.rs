//! `[trace]`: the spans that a collector gets, and what servers tell each other of a trace.

mod chains;
mod collecting;
mod parents;
mod sampling;
mod server_jobs;
mod support;
mod tree;
