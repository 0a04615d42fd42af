//! Jobs in processes that are killed, and the command that looks at them.

mod command;
mod crons;
mod failing;
mod faults;
mod keys;
mod plans;
mod processes;
mod queues;
mod rates;
mod rings;
mod server;
mod told;
