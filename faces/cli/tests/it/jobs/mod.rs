//! Jobs in processes that are killed, and the command that looks at them.

mod command;
mod crons;
mod faults;
mod processes;
mod server;
mod told;
