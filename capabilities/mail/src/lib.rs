//! Mails: from what a script describes to what a server takes.
//!
//! A `Draft` is read where it lies in the script, its templates are rendered, and
//! `compose` makes the mail of it. It leaves when everything is committed that it may depend on:
//! into a mailbox in development and in tests, else as a job, which is a row of the app's database. The job makes
//! attempts (`runner`, `delivery`), each by one transaction with the server (`smtp`).

mod address;
mod capability;
mod compose;
mod delivery;
mod dkim;
mod draft;
mod limits;
mod plain;
mod rows;
mod runner;
mod server;
mod settings;
mod smtp;

pub use capability::CAPABILITY;
pub use settings::{MailConfig, SECTION};
