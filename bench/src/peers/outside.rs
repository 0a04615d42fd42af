//! The peers of `bench fetch`.

use super::{Peer, PeerKind, peer};
use crate::routes::{FETCH, Route};

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

pub(crate) const LUA_FETCH: &str = "sampan-lua-fetch";
pub(crate) const JS_FETCH: &str = "sampan-js-fetch";
pub(crate) const BUN_FETCH: &str = "bun-fetch";
pub(crate) const NODE_FETCH: &str = "node-fetch";
pub(crate) const NGINX_PROXY: &str = "nginx-proxy";
