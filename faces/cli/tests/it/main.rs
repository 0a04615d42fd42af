//! The command as its users meet it. One program, because each test program links all of Sampan.

mod backups;
mod commands;
mod confined;
mod confined_acme;
mod crashes;
mod dev;
mod exec;
#[path = "../faults/mod.rs"]
mod faults;
mod health;
mod jobs;
mod mails;
mod measured;
mod postgres;
mod read_only;
mod serving;
mod supervised;
#[path = "../support/mod.rs"]
mod support;
mod top;
