//! Runs scenarios against a project: starts it in this process, sends requests, compares the answers.
//!
//! A case is a folder with `app.lua`, `app.js` and `expect.toml`. The same expectations hold for both languages:
//!
//! ```toml
//! [config.limits]             # optional: what sampan.toml would say
//! script_millis_max = 100
//!
//! [[request]]
//! path = "/greet/Ann"
//! [request.expect]
//! status = 200
//! json = '{"greeting":"Hello, Ann"}'
//! ```
//!
//! [`Scenario`] lists all that can be asked and expected. [`Case::all`] finds the cases below a folder, and
//! [`Case::run`] runs one in one language.

mod browsers;
mod check;
pub mod codegen;
mod content_coding;
mod cookies;
pub mod docs;
pub mod npm;
mod platforms;
pub mod project;
mod runner;
mod scenario;
pub mod sockets;
mod sockets_http2;
mod upstreams;
mod wire;

pub use platforms::{Platform, built_addon};
pub use runner::{Case, CaseEngine};
pub use sampan_client::{Answer, Client, wait};
pub use scenario::{Expectation, OneOrMore, Request, Scenario};
pub use sockets::SocketClient;
pub use wire::{CaseClient, CaseWire, Http1Client, PlainWire};
