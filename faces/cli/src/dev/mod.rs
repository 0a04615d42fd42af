//! `sampan dev`: serves a project while it is written.
//!
//! A watcher (`watch`) reports what was saved; the project is loaded anew by the same mechanism as for `sampan reload`.
//! Pages in the browser hear of it by server-sent events, which a handler of its own answers before the project's
//! (`handler`). Errors become pages (`pages`). The log gets a line with the costs of each request (`trace`), and hints
//! about what is probably a mistake (`hints`). Nothing of this is on the way of a request of `sampan run`.

mod args;
mod handler;
mod hints;
mod hosts;
mod https;
mod loaded_scripts;
mod pages;
mod plans;
mod previews;
mod reset;
mod run;
mod state;
mod trace;
pub(crate) mod watch;

pub(crate) use args::{DevArgs, run};
