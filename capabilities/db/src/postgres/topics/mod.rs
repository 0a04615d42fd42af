//! Messages of topics between the processes that share a database.
//!
//! A message is a row of `_sampan_messages`. A transaction that publishes takes an advisory lock before its rows get
//! their numbers, and has it until it is committed. So the numbers are in the order of commits, and a process that has
//! read up to a number has missed nothing before it: no slower transaction can come with a smaller one. PostgreSQL
//! lets transactions that notify commit one after the other anyway.
//!
//! NOTIFY only rings: each process then reads the rows behind the last one that it has, in parts of bounded size. So a
//! storm of notifications costs few reads, payloads have no limit of their own, and a process that connects again goes
//! on where it was.
//!
//! One thread in each process (`link`) has a connection of its own. It reads what others publish, writes what is
//! published here outside of transactions, and keeps the members of topics that are connected here. What is published
//! in a transaction or a batch of a script is a statement of that.

mod carrier;
mod link;
mod queue;
mod rows;
mod sql;
mod worker;

pub(crate) use carrier::PostgresCarrier;
pub(crate) use sql::SERVER_TABLES;
pub(super) use sql::publishing;
