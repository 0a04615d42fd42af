//! The peers of `bench fetch`, `bench jobs`, `bench postgres`, `bench backup` and `bench
//! load`.

use super::{Peer, PeerKind, peer};
use crate::routes::{BACKUP, FETCH, JOBS, LOAD, POSTGRES, Route};

/// Everyone in `bench fetch`, ours first. nginx parses no JSON.
#[rustfmt::skip]
pub(crate) const FETCH_PEERS: &[Peer] = &[
    peer(LUA_FETCH, "Sampan, Lua", PeerKind::Sampan("bench_fetch/app.lua"), FETCH),
    peer(JS_FETCH, "Sampan, JavaScript", PeerKind::Sampan("bench_fetch/app.js"), FETCH),
    peer(BUN_FETCH, "Bun.serve and fetch", PeerKind::Bun, FETCH),
    peer(NODE_FETCH, "Node http and fetch", PeerKind::Node, FETCH),
    peer(NGINX_PROXY, "nginx, proxy_pass", PeerKind::Nginx { lua: false }, &[Route::Passed]),
];

/// The server that those of `bench fetch` ask.
pub(crate) const ORIGIN: Peer = peer(
    "origin",
    "nginx, which is asked",
    PeerKind::Nginx { lua: false },
    &[],
);

/// Everyone in `bench jobs`, ours first. The others only do empty jobs.
#[rustfmt::skip]
pub(crate) const JOBS_PEERS: &[Peer] = &[
    peer(LUA_JOBS, "Sampan, Lua", PeerKind::Sampan("bench_jobs/app.lua"), JOBS),
    peer(JS_JOBS, "Sampan, JavaScript", PeerKind::Sampan("bench_jobs/app.js"), JOBS),
    peer(RIVER, "River on PostgreSQL", PeerKind::Go, EMPTY),
    peer(GRAPHILE, "graphile-worker on PostgreSQL", PeerKind::Node, EMPTY),
    bullmq(BULLMQ, "BullMQ on Redis, appendfsync always"),
    bullmq(BULLMQ_EVERYSEC, "BullMQ on Redis, appendfsync everysec"),
];

/// Everyone in `bench postgres`, ours first.
#[rustfmt::skip]
pub(crate) const POSTGRES_PEERS: &[Peer] = &[
    peer(LUA_POSTGRES, "Sampan, Lua", PeerKind::Sampan("bench_postgres/app.lua"), POSTGRES),
    peer(JS_POSTGRES, "Sampan, JavaScript", PeerKind::Sampan("bench_postgres/app.js"), POSTGRES),
    peer(BUN_POSTGRES, "Bun + Bun.sql", PeerKind::Bun, POSTGRES),
    peer(GO_POSTGRES, "Go + pgx", PeerKind::Go, POSTGRES),
    peer(NODE_POSTGRES, "Node + postgres.js", PeerKind::Node, POSTGRES),
];

/// Everyone in `bench backup`: ours, with a copy of the database and without.
#[rustfmt::skip]
pub(crate) const BACKUP_PEERS: &[Peer] = &[
    peer(LUA_NOT_COPIED, "Sampan, Lua", PeerKind::Sampan("bench_db/app.lua"), BACKUP),
    peer(LUA_COPIED, "Sampan, Lua, copied", PeerKind::Sampan("bench_db/app.lua"), BACKUP),
    peer(JS_NOT_COPIED, "Sampan, JavaScript", PeerKind::Sampan("bench_db/app.js"), BACKUP),
    peer(JS_COPIED, "Sampan, JavaScript, copied", PeerKind::Sampan("bench_db/app.js"), BACKUP),
];

/// Everyone in `bench load`, ours first.
#[rustfmt::skip]
pub(crate) const LOAD_PEERS: &[Peer] = &[
    peer(LOAD_LUA, "Sampan, Lua", PeerKind::Sampan("bench_load/app.lua"), LOAD),
    peer(LOAD_JS, "Sampan, JavaScript", PeerKind::Sampan("bench_load/app.js"), LOAD),
    peer(LOAD_NODE, "Node http, cluster", PeerKind::Node, LOAD),
    peer(LOAD_BUN, "Bun.serve, reusePort", PeerKind::Bun, LOAD),
    peer(LOAD_NGINX, "nginx + Lua", PeerKind::Nginx { lua: true }, LOAD),
    peer(LOAD_GO, "Go net/http", PeerKind::Go, LOAD),
];

const EMPTY: &[Route] = &[Route::EmptyJob];

const fn bullmq(id: &'static str, title: &'static str) -> Peer {
    Peer {
        folder: "bullmq",
        ..peer(id, title, PeerKind::Node, EMPTY)
    }
}

pub(crate) const LUA_NOT_COPIED: &str = "sampan-lua-not-copied";
pub(crate) const LUA_COPIED: &str = "sampan-lua-copied";
pub(crate) const JS_NOT_COPIED: &str = "sampan-js-not-copied";
pub(crate) const JS_COPIED: &str = "sampan-js-copied";
pub(crate) const LOAD_LUA: &str = "sampan-lua-load";
pub(crate) const LOAD_JS: &str = "sampan-js-load";
pub(crate) const LOAD_NODE: &str = "load-node";
pub(crate) const LOAD_BUN: &str = "load-bun";
pub(crate) const LOAD_NGINX: &str = "load-nginx";
pub(crate) const LOAD_GO: &str = "load-go";
pub(crate) const LUA_POSTGRES: &str = "sampan-lua-postgres";
pub(crate) const JS_POSTGRES: &str = "sampan-js-postgres";
pub(crate) const BUN_POSTGRES: &str = "bun-postgres";
pub(crate) const GO_POSTGRES: &str = "go-postgres";
pub(crate) const NODE_POSTGRES: &str = "node-postgres";
pub(crate) const LUA_JOBS: &str = "sampan-lua-jobs";
pub(crate) const JS_JOBS: &str = "sampan-js-jobs";
pub(crate) const RIVER: &str = "river";
pub(crate) const GRAPHILE: &str = "graphile-worker";
pub(crate) const BULLMQ: &str = "bullmq";
pub(crate) const BULLMQ_EVERYSEC: &str = "bullmq-everysec";
pub(crate) const LUA_FETCH: &str = "sampan-lua-fetch";
pub(crate) const JS_FETCH: &str = "sampan-js-fetch";
pub(crate) const BUN_FETCH: &str = "bun-fetch";
pub(crate) const NODE_FETCH: &str = "node-fetch";
pub(crate) const NGINX_PROXY: &str = "nginx-proxy";
