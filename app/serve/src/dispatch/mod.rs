//! A project on one worker, and the way of a request through it.

pub(crate) mod admitting;
pub(crate) mod apart;
pub(crate) mod build;
mod connection_faults;
#[expect(
    clippy::module_inception,
    reason = "the router is what the folder is about"
)]
pub(crate) mod dispatch;
mod exchange;
mod failed_answer;
mod file_answer;
mod fixed_answer;
mod guarding;
pub(crate) mod loaded;
mod no_route;
mod recording;
mod script_span;
mod switch;
