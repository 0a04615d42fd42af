//! The command as its users meet it. One program, because each test program links all of Sampan.

mod bodies;
mod build;
mod busy;
mod checking;
mod command;
mod configuration;
mod dev;
mod docs;
#[path = "../faults/mod.rs"]
mod faults;
mod given_up;
mod listening;
mod load;
mod logins;
mod logs;
mod new;
mod night;
mod presence;
mod profile;
mod reload;
mod repl;
mod requests;
mod scripts;
mod shutdown;
mod sql;
mod storage;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod testing;
mod unread;
mod upload_ends;
mod uploads;
