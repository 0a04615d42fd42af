//! The peers of the libraries: `bench gust` for the package of npm, `bench golua` for that of Go.

use super::{Peer, PeerKind, peer};
use crate::routes::{GOLUA, GUST, Route};

/// Everyone in `bench gust`, ours first. Gust's answers without JavaScript are a server of their own, as its `serve`
/// does not make them.
#[rustfmt::skip]
pub(crate) const GUST_PEERS: &[Peer] = &[
    shared(SERVE_BUN, "sampan-serve", "Sampan on Bun", PeerKind::BunSampan, GUST),
    shared(SERVE_NODE, "sampan-serve", "Sampan on Node", PeerKind::NodeSampan, GUST),
    shared(OUR_HONO_BUN, "sampan-hono", "Hono on Sampan, Bun", PeerKind::BunSampan, GUST),
    shared(OUR_HONO_NODE, "sampan-hono", "Hono on Sampan, Node", PeerKind::NodeSampan, GUST),
    peer("bun", "Bun.serve", PeerKind::Bun, GUST),
    peer("elysia", "Elysia on Bun", PeerKind::Bun, GUST),
    peer("hono", "Hono on Bun", PeerKind::Bun, GUST),
    shared("gust-bun", "gust", "Gust on Bun", PeerKind::Bun, GUST_DYNAMIC),
    shared(GUST_NODE, "gust", "Gust on Node", PeerKind::Node, GUST_DYNAMIC),
    shared("gust-static-bun", "gust-static", "Gust, static, on Bun", PeerKind::Bun, &[Route::Version]),
    shared("gust-static-node", "gust-static", "Gust, static, on Node", PeerKind::Node, &[Route::Version]),
    peer("node", "Node http", PeerKind::Node, GUST),
    peer("fastify", "Fastify on Node", PeerKind::Node, GUST),
    peer("express", "Express on Node", PeerKind::Node, GUST),
    peer(HONO_NODE, "Hono on Node, @hono/node-server", PeerKind::Node, GUST),
];

/// Those of `bench gust` that write to a database, ours first.
#[rustfmt::skip]
pub(crate) const GUST_DB_PEERS: &[Peer] = &[
    shared(RUN_BUN, "sampan-serve", "app.js on Sampan, Bun", PeerKind::BunRun("bench_db/app.js"), &[Route::Write]),
    shared(RUN_NODE, "sampan-serve", "app.js on Sampan, Node", PeerKind::NodeRun("bench_db/app.js"), &[Route::Write]),
    peer(super::BUN_DB, "Bun + bun:sqlite", PeerKind::Bun, &[Route::Write]),
    peer("fastify-db", "Fastify + better-sqlite3", PeerKind::Node, &[Route::Write]),
];

/// Everyone in `bench golua`, ours first.
#[rustfmt::skip]
pub(crate) const GOLUA_PEERS: &[Peer] = &[
    peer(GO_SAMPAN, "Go, Sampan's engine", PeerKind::GoSampan, &[Route::Cached, Route::Native]),
    shared(GO_SAMPAN_FILE, GO_SAMPAN, "Go, Sampan's engine", PeerKind::GoSampan, &[Route::FromFile]),
    peer(GO_SAMPAN_HTTP, "Go net/http, Sampan's scripts", PeerKind::GoSampan, &[Route::FromFile, Route::Cached]),
    peer(GO_LUAJIT, "Go net/http + LuaJIT, new state", PeerKind::GoLuaJit, GOLUA),
    peer("gopher-lua", "Go net/http + gopher-lua, new state", PeerKind::Go, &[Route::FromFile, Route::Cached]),
    peer(GO_HELLO, "Go net/http", PeerKind::Go, &[Route::Native]),
];

/// The answers that Gust makes in JavaScript.
const GUST_DYNAMIC: &[Route] = GUST.split_at(1).1;

/// Our `serve`.
pub(crate) const SERVE_BUN: &str = "sampan-bun";
pub(crate) const SERVE_NODE: &str = "sampan-node";
/// Hono on our `serve`.
pub(crate) const OUR_HONO_BUN: &str = "sampan-hono-bun";
pub(crate) const OUR_HONO_NODE: &str = "sampan-hono-node";
/// Our command, with the file of an app.
pub(crate) const RUN_BUN: &str = "sampan-run-bun";
pub(crate) const RUN_NODE: &str = "sampan-run-node";
pub(crate) const GUST_NODE: &str = "gust-node";
pub(crate) const HONO_NODE: &str = "hono-node";
/// Our engine in a program in Go, with isolated requests, and our scripts behind its net/http.
pub(crate) const GO_SAMPAN: &str = "go-sampan";
pub(crate) const GO_SAMPAN_FILE: &str = "go-sampan-file";
pub(crate) const GO_SAMPAN_HTTP: &str = "go-sampan-http";
pub(crate) const GO_LUAJIT: &str = "go-luajit";
pub(crate) const GO_HELLO: &str = "go-hello";

/// The script that all peers of `bench golua` run which have a function called by Go.
pub(crate) const SCRIPT: &str = "bench/peers/go-luajit/script.lua";

/// One with the files of another.
const fn shared(
    id: &'static str,
    folder: &'static str,
    title: &'static str,
    kind: PeerKind,
    routes: &'static [Route],
) -> Peer {
    Peer {
        folder,
        ..peer(id, title, kind, routes)
    }
}
