//! Traits and plain types by which capabilities and the server offer something to each other.

pub mod attached;
pub mod database;
pub mod effects;
pub mod events;
pub mod fetch;
pub mod health;
pub mod jobs;
pub mod log;
pub mod mails;
pub mod memberships;
pub mod metrics;
pub mod page_log;
pub mod pages;
pub mod renderer;
pub mod sealer;
pub mod sockets;
pub mod statement_text;
pub mod texts;
pub mod topics;
pub mod trace;
