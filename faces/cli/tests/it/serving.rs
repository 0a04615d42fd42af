//! Servers as their clients and those who operate them meet them.

mod bodies;
mod busy;
mod given_up;
mod listening;
mod logins;
mod logs;
mod presence;
mod reload;
mod requests;
mod scripts;
mod shutdown;
mod streams;
mod unread;
pub(crate) mod upgrade;
pub(crate) mod uploads;
