//! Scripts without a server: isolates on threads of their own, which handle requests and call functions for any thread
//! of the process.
//!
//! A `ScriptPool` has one queue (`queue`) and a thread for each isolate (`worker`). The caller hands over a `Work` with
//! a callback for its outcome. The callback is called once, on the thread of the isolate or on the thread that cancels
//! the work. Limits, capabilities and the way of a request through guards, middleware and routes are those of the
//! server: the same code runs here without sockets.
//!
//! The script is loaded by a file of ours (`call.lua`, `call.js`), which runs the script's own and keeps a function
//! that finds what the script offers by name. So a call is a run like any other, and may wait.

pub(crate) mod calls;
pub(crate) mod errors;
mod generations;
pub(crate) mod job;
pub(crate) mod pool;
mod queue;
mod reload;
mod renewal;
pub(crate) mod request;
mod shared;
mod submitted;
mod worker;
