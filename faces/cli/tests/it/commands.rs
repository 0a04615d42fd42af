//! The commands beside `sampan run` and `sampan dev`, and the command in a terminal.

mod build;
mod checking;
pub(crate) mod command;
mod configuration;
mod docs;
mod load;
mod new;
mod night;
mod profile;
mod repl;
mod sql;
mod storage;
pub(crate) mod terminal;
mod testing;
mod testing_app;
