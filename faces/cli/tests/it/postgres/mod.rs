//! Apps on a PostgreSQL server. Without PostgreSQL these tests are skipped.

mod commands;
mod connections;
mod copying;
mod locks;
mod migrations;
mod serving;
mod sessions;
mod testing;
mod topics;
mod unawaited;
