//! Mails of servers that run: what a mail server gets, and what waits for it.

mod sending;
mod server;
mod waiting;
