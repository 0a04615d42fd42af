//! A run of a script: whose it is, what it may use, and what must not leave the process yet.

pub mod background;
pub mod call_site;
pub mod current_run;
pub mod isolation;
pub mod limits;
pub mod low_priority;
pub mod outbox;
pub mod samples;
pub mod stopper;
pub mod watch;
