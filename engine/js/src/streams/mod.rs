//! The controller of a `ReadableStream`, native because every chunk passes through it. What is rare is in
//! `web/streams/readable.js`.

mod controller;
mod functions;

pub(crate) use functions::register;
