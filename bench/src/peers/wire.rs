//! The peers of `bench tls`, `bench h2` and `bench ws`.

use super::target::Protocol;
use super::{Peer, PeerKind, peer};
use crate::routes::{H2, Route, TLS, WS};

/// Everyone in `bench tls`, ours first.
#[rustfmt::skip]
pub(crate) const TLS_PEERS: &[Peer] = &[
    over(Protocol::Https, LUA_TLS, LUA_TLS, "Sampan, Lua", PeerKind::Sampan("hello/app.lua"), TLS),
    over(Protocol::Https, JS_TLS, JS_TLS, "Sampan, JavaScript", PeerKind::Sampan("hello/app.js"), &[Route::Health]),
    over(Protocol::Https, NGINX_TLS, NGINX_TLS, "nginx", PeerKind::Nginx { lua: false }, TLS),
    over(Protocol::Https, BUN_TLS, BUN_TLS, "Bun.serve", PeerKind::Bun, H2),
];

/// Everyone in `bench h2`, ours first.
#[rustfmt::skip]
pub(crate) const H2_PEERS: &[Peer] = &[
    over(Protocol::Http2, LUA_H2, LUA_H2, "Sampan, Lua", PeerKind::Sampan("hello/app.lua"), H2),
    over(Protocol::Http2, JS_H2, JS_H2, "Sampan, JavaScript", PeerKind::Sampan("hello/app.js"), &[Route::Health]),
    over(Protocol::Http2, NGINX_H2, NGINX_TLS, "nginx", PeerKind::Nginx { lua: false }, H2),
    over(Protocol::Http2, NODE_H2, NODE_H2, "Node http2", PeerKind::Node, H2),
];

/// Everyone in `bench ws`, ours first.
#[rustfmt::skip]
pub(crate) const WS_PEERS: &[Peer] = &[
    peer(LUA_WS, "Sampan, Lua", PeerKind::Sampan("bench_ws/app.lua"), WS),
    peer(JS_WS, "Sampan, JavaScript", PeerKind::Sampan("bench_ws/app.js"), WS),
    peer(BUN_WS, "Bun.serve", PeerKind::Bun, WS),
    peer(NODE_WS, "Node + ws", PeerKind::Node, WS),
];

pub(crate) const LUA_TLS: &str = "sampan-lua-tls";
pub(crate) const JS_TLS: &str = "sampan-js-tls";
pub(crate) const NGINX_TLS: &str = "nginx-tls";
pub(crate) const BUN_TLS: &str = "bun-tls";
pub(crate) const LUA_H2: &str = "sampan-lua-h2";
pub(crate) const JS_H2: &str = "sampan-js-h2";
pub(crate) const NGINX_H2: &str = "nginx-h2";
pub(crate) const NODE_H2: &str = "node-h2";
pub(crate) const LUA_WS: &str = "sampan-lua-ws";
pub(crate) const JS_WS: &str = "sampan-js-ws";
pub(crate) const BUN_WS: &str = "bun-ws";
pub(crate) const NODE_WS: &str = "node-ws";

const fn over(
    protocol: Protocol,
    id: &'static str,
    folder: &'static str,
    title: &'static str,
    kind: PeerKind,
    routes: &'static [Route],
) -> Peer {
    Peer {
        protocol,
        folder,
        ..peer(id, title, kind, routes)
    }
}
