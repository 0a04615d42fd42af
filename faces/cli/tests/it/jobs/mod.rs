//! Jobs in processes that are killed, and the command that looks at them.

mod command;
mod crons;
mod failing;
mod faults;
mod keys;
mod processes;
mod rings;
mod server;
mod told;
