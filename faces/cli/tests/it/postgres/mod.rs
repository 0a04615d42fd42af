//! Apps on a PostgreSQL server. Without PostgreSQL these tests are skipped.

mod caches;
mod clocks;
mod commands;
mod connections;
mod copying;
mod locks;
mod migrations;
mod serving;
mod sessions;
mod slow_statements;
mod testing;
mod topics;
mod unawaited;
mod unknown_commits;

use crate::support::Scratch;
use sampan_client::postgres::PostgresServer;
use std::sync::Arc;

/// Makes a project of each app. Returns the server, the app's file, and the project; nothing without PostgreSQL.
fn each_app(
    apps: [(&'static str, &'static str); 2],
    project: fn(&str, &str) -> Scratch,
) -> impl Iterator<Item = (Arc<PostgresServer>, &'static str, Scratch)> {
    let server = PostgresServer::shared();
    server.into_iter().flat_map(move |server| {
        apps.map(|(file, source)| (Arc::clone(&server), file, project(file, source)))
    })
}
