//! Publish and subscribe: messages to sockets, event streams and functions of the script, on all workers.
//!
//! A message waits in the worker's outbox until the writes are committed that it may depend on. Then the `hub` gives
//! it a number and puts it into the inbox of each worker with receivers. The `worker` delivers what arrives there, to
//! `receivers` that are blocked after all others.
//!
//! Where the database carries messages between processes, it takes them from `publishing`, and the hub gets them back
//! with their numbers (`hub/carried.rs`).

mod capability;
mod config;
mod functions;
mod hub;
mod limits;
mod publishing;
mod receivers;
mod rows;
mod worker;

pub use capability::CAPABILITY;
pub use config::{TOPICS, TopicsConfig};
pub use hub::Hub;
pub use hub::rules::{TopicRule, TopicRules};
