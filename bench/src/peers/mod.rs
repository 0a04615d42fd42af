//! The peers: who is measured, on which routes, and how each is started.

pub(crate) mod certificate;
pub(crate) mod children;
mod faces;
pub(crate) mod install;
pub(crate) mod install_faces;
mod installed;
mod outside;
pub(crate) mod placement;
pub(crate) mod processes;
pub(crate) mod server;
pub(crate) mod storage;
pub(crate) mod stores;
pub(crate) mod target;
mod wire;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::placement::Placement;
use crate::peers::storage::{BenchStorage, files};
use crate::peers::target::Protocol;
use crate::routes::{
    BODIES, DB, EVENTS, GREETINGS, HELLO, LIMIT, PETCLINIC, Route, STATIC, STREAM, TEMPLATE, VISITS,
};

pub(crate) use faces::*;
pub(crate) use installed::Installed;
pub(crate) use outside::*;
pub(crate) use wire::*;

/// A server to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The name on the command line.
    pub(crate) id: &'static str,
    /// The folder below `bench/peers`, named like it unless several peers share one.
    pub(crate) folder: &'static str,
    /// The name in reports.
    pub(crate) title: &'static str,
    pub(crate) kind: PeerKind,
    pub(crate) protocol: Protocol,
    pub(crate) routes: &'static [Route],
}

/// The way a peer is installed and started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerKind {
    /// Debian's nginx, with its Lua module or without, and a configuration of ours.
    Nginx { lua: bool },
    /// A `server.js` for Bun.
    Bun,
    /// A `server.js` for Node.js.
    Node,
    /// A `main.c`.
    C,
    /// A program in Go.
    Go,
    /// A program in Go that links LuaJIT.
    GoLuaJit,
    /// A program in Go with our package for Go.
    GoSampan,
    /// A `server.js` for Node.js with our package from npm.
    NodeSampan,
    /// The npm package's `serve` on Bun.
    BunSampan,
    /// This file of `examples`, run by the command of our package on Node.js.
    NodeRun(&'static str),
    /// `npx sampan run` on Bun.
    BunRun(&'static str),
    /// The jar of Spring PetClinic, from a checkout.
    Spring,
    /// This file or folder of `examples`.
    Sampan(&'static str),
}

/// nginx answers fixed text; it has no handlers.
const FIXED: &[Route] = &[Route::Version, Route::Health];

/// The routes of the peer whose module adds the handlers; what is fixed is measured with the plain one.
const HANDLERS: &[Route] = &[Route::Health, Route::Greet, Route::Echo, Route::GreetPost];

/// Everyone in `bench hello`, ours first. Ours have the routes in two examples.
#[rustfmt::skip]
pub(crate) const PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua", PeerKind::Sampan("hello/app.lua"), GREETINGS),
    peer(SAMPAN_JS, "Sampan, JavaScript", PeerKind::Sampan("hello/app.js"), GREETINGS),
    peer("sampan-lua-bodies", "Sampan, Lua", PeerKind::Sampan("bench_bodies/app.lua"), BODIES),
    peer(SAMPAN_JS_BODIES, "Sampan, JavaScript", PeerKind::Sampan("bench_bodies/app.js"), BODIES),
    peer("nginx", "nginx", PeerKind::Nginx { lua: false }, FIXED),
    peer("nginx-lua", "nginx + Lua", PeerKind::Nginx { lua: true }, HANDLERS),
    peer("bun", "Bun.serve", PeerKind::Bun, HELLO),
    peer("elysia", "Elysia on Bun", PeerKind::Bun, GREETINGS),
    peer("hono", "Hono on Bun", PeerKind::Bun, GREETINGS),
    peer("go", "Go net/http", PeerKind::Go, GREETINGS),
    peer("node", "Node http", PeerKind::Node, GREETINGS),
    peer("fastify", "Fastify on Node", PeerKind::Node, GREETINGS),
    peer("express", "Express on Node", PeerKind::Node, GREETINGS),
];

/// Everyone in `bench db`, ours first. Ours have the routes in two examples, the others all in one server.
#[rustfmt::skip]
pub(crate) const DB_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua", PeerKind::Sampan("bench_db/app.lua"), EVENTS),
    peer(SAMPAN_JS, "Sampan, JavaScript", PeerKind::Sampan("bench_db/app.js"), EVENTS),
    peer("sampan-lua-hello", "Sampan, Lua", PeerKind::Sampan("hello/app.lua"), VISITS),
    peer("sampan-js-hello", "Sampan, JavaScript", PeerKind::Sampan("hello/app.js"), VISITS),
    peer(BUN_DB, "Bun + bun:sqlite", PeerKind::Bun, DB),
    peer("fastify-db", "Fastify + better-sqlite3", PeerKind::Node, DB),
    peer("go-db", "Go + mattn/go-sqlite3", PeerKind::Go, DB),
];

/// Everyone in `bench stream`, ours first.
#[rustfmt::skip]
pub(crate) const STREAM_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua", PeerKind::Sampan("bench_stream/app.lua"), STREAM),
    peer(SAMPAN_JS, "Sampan, JavaScript", PeerKind::Sampan("bench_stream/app.js"), STREAM),
    peer(BUN_STREAM, "Bun.serve", PeerKind::Bun, STREAM),
];

/// Everyone in `bench template`, ours first.
#[rustfmt::skip]
pub(crate) const TEMPLATE_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua", PeerKind::Sampan("bench_template/app.lua"), TEMPLATE),
    peer(SAMPAN_JS, "Sampan, JavaScript", PeerKind::Sampan("bench_template/app.js"), TEMPLATE),
    peer(BUN_ETA, "Bun + Eta", PeerKind::Bun, TEMPLATE),
];

/// Everyone in `bench limit`, ours first.
#[rustfmt::skip]
pub(crate) const LIMIT_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua", PeerKind::Sampan("hello/app.lua"), LIMIT),
    peer(SAMPAN_JS, "Sampan, JavaScript", PeerKind::Sampan("hello/app.js"), LIMIT),
    peer(EPOLL_LOOP, "an epoll loop in C", PeerKind::C, LIMIT),
];

/// Everyone in `bench static`, ours first. Files do not enter scripts, so the language makes no difference.
#[rustfmt::skip]
pub(crate) const STATIC_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan", PeerKind::Sampan("bench_static/app.lua"), STATIC),
    peer(NGINX_STATIC, "nginx, sendfile", PeerKind::Nginx { lua: false }, STATIC),
    peer("bun-static", "Bun.serve", PeerKind::Bun, STATIC),
];

/// Everyone in `bench petclinic`, ours first. The last is no PetClinic: its answer is precomputed, so it shows what the
/// load can.
#[rustfmt::skip]
pub(crate) const PETCLINIC_PEERS: &[Peer] = &[
    peer(SAMPAN_LUA, "Sampan, Lua, cached", PeerKind::Sampan("petclinic/lua"), PETCLINIC),
    peer(SAMPAN_JS, "Sampan, JavaScript, cached", PeerKind::Sampan("petclinic/js"), PETCLINIC),
    peer("sampan-lua-uncached", "Sampan, Lua", PeerKind::Sampan("petclinic/lua"), PETCLINIC),
    peer("sampan-js-uncached", "Sampan, JavaScript", PeerKind::Sampan("petclinic/js"), PETCLINIC),
    peer(SPRING, "Spring PetClinic", PeerKind::Spring, PETCLINIC),
    peer(FIXED_ANSWER, "a fixed answer", PeerKind::Sampan("hello/app.lua"), &[Route::Version]),
];

/// The peers of every benchmark.
const ALL_PEERS: &[&[Peer]] = &[
    PEERS,
    DB_PEERS,
    STREAM_PEERS,
    TEMPLATE_PEERS,
    LIMIT_PEERS,
    STATIC_PEERS,
    PETCLINIC_PEERS,
    GUST_PEERS,
    GUST_DB_PEERS,
    GOLUA_PEERS,
    TLS_PEERS,
    H2_PEERS,
    WS_PEERS,
    FETCH_PEERS,
    JOBS_PEERS,
    POSTGRES_PEERS,
    BACKUP_PEERS,
    LOAD_PEERS,
    &[ORIGIN],
];

const fn peer(
    id: &'static str,
    title: &'static str,
    kind: PeerKind,
    routes: &'static [Route],
) -> Peer {
    Peer {
        id,
        folder: id,
        title,
        kind,
        protocol: Protocol::Http,
        routes,
    }
}

/// The SQL that makes the rows of `bench load`, from the root of the checkout.
const NUMBERS: &str = "examples/bench_load/migrations/0001_numbers.sql";
/// The PetClinic that ours is compared with.
pub(crate) const SPRING: &str = "spring-petclinic";
/// The highest rate that the load program can reach.
pub(crate) const FIXED_ANSWER: &str = "fixed-answer";
/// The loop that parses nothing.
pub(crate) const EPOLL_LOOP: &str = "epoll-loop";
/// nginx with files.
pub(crate) const NGINX_STATIC: &str = "nginx-static";
/// Bun with large bodies.
pub(crate) const BUN_STREAM: &str = "bun-stream";
/// Bun with its own SQLite.
pub(crate) const BUN_DB: &str = "bun-db";
/// Bun with the templates of Eta.
pub(crate) const BUN_ETA: &str = "bun-eta";
/// Ours with the Lua app.
pub(crate) const SAMPAN_LUA: &str = "sampan-lua";
/// Ours with the JavaScript app.
pub(crate) const SAMPAN_JS: &str = "sampan-js";
/// Ours with the JavaScript app that takes and gives bodies.
pub(crate) const SAMPAN_JS_BODIES: &str = "sampan-js-bodies";

impl Peer {
    /// The one with this id.
    pub(crate) fn named(id: &str) -> Option<&'static Self> {
        ALL_PEERS
            .iter()
            .copied()
            .flatten()
            .find(|peer| peer.id == id)
    }

    /// Reports whether it is ours: the executable or a library.
    pub(crate) fn is_ours(&self) -> bool {
        use PeerKind::{BunRun, BunSampan, GoSampan, NodeRun, NodeSampan};
        let is_library = matches!(
            self.kind,
            GoSampan | NodeSampan | BunSampan | NodeRun(_) | BunRun(_)
        );
        is_library || self.is_executable()
    }

    /// Reports whether it is our executable.
    pub(crate) fn is_executable(&self) -> bool {
        matches!(self.kind, PeerKind::Sampan(_))
    }

    /// The file of `examples` that ours runs.
    pub(crate) fn example(&self, root: &Path) -> PathBuf {
        let (PeerKind::Sampan(file) | PeerKind::NodeRun(file) | PeerKind::BunRun(file)) = self.kind
        else {
            return root.join("examples");
        };
        root.join("examples").join(file)
    }

    /// The command that serves on this port of 127.0.0.1 with so many threads.
    pub(crate) fn command(
        &self,
        installed: &Installed,
        placement: &Placement,
        port: u16,
        threads: usize,
        storage: Option<&BenchStorage>,
    ) -> Command {
        let mut command = placement.server(&installed.program);
        command
            .args(&installed.arguments)
            .envs(installed.variables.iter().cloned())
            .current_dir(&installed.folder);
        let [certificate, key] = certificate::files(&crate::checkout::root());
        match self.kind {
            PeerKind::Sampan(_) | PeerKind::NodeRun(_) | PeerKind::BunRun(_) => {
                command.args([
                    "--listen",
                    &format!("127.0.0.1:{port}"),
                    "--workers",
                    &threads.to_string(),
                ]);
                if self.protocol != Protocol::Http {
                    command.arg("--tls-cert").arg(&certificate);
                    command.arg("--tls-key").arg(&key);
                }
                if let Some(storage) = storage {
                    command.arg("--db").arg(storage.file());
                    command.arg("--config").arg(storage.settings());
                }
            }
            PeerKind::Spring => {
                command.args([
                    &format!("--server.port={port}"),
                    "--server.compression.enabled=true",
                    "--server.compression.min-response-size=256",
                ]);
            }
            PeerKind::Nginx { .. }
            | PeerKind::Bun
            | PeerKind::Node
            | PeerKind::C
            | PeerKind::Go
            | PeerKind::GoLuaJit
            | PeerKind::GoSampan
            | PeerKind::NodeSampan
            | PeerKind::BunSampan => {
                command
                    .env("PORT", port.to_string())
                    .env("THREADS", threads.to_string())
                    .env("FILES", files(&crate::checkout::root()))
                    .env("CERTIFICATE", &certificate)
                    .env("KEY", &key)
                    .env("SCRIPT", crate::checkout::root().join(SCRIPT))
                    .env(
                        "SOURCES",
                        crate::checkout::root()
                            .join("bench/peers")
                            .join(self.folder),
                    )
                    .env("PEER", self.id);
                command
                    .env("GOMAXPROCS", threads.to_string())
                    // Gust's native part is made with tokio.
                    .env("TOKIO_WORKER_THREADS", threads.to_string())
                    .env("NODE_ENV", "production");
                if let Some(storage) = storage {
                    command
                        .env("DB", storage.file())
                        .env("SCHEMA", storage.schema())
                        .env("NUMBERS", crate::checkout::root().join(NUMBERS))
                        .env("SYNCHRONOUS", storage.durability.pragma());
                }
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_its_files() {
        let root = crate::checkout::root();
        let all = ALL_PEERS.iter().copied().flatten();
        let has_files = |peer: &&Peer| {
            !matches!(
                peer.kind,
                PeerKind::Sampan(_) | PeerKind::NodeRun(_) | PeerKind::BunRun(_) | PeerKind::Spring
            )
        };
        for peer in all.filter(has_files) {
            let file = match peer.kind {
                PeerKind::Nginx { .. } => "nginx.conf",
                PeerKind::C => "main.c",
                PeerKind::Go | PeerKind::GoLuaJit | PeerKind::GoSampan => "main.go",
                _ => "server.js",
            };
            assert!(
                root.join("bench/peers")
                    .join(peer.folder)
                    .join(file)
                    .exists(),
                "{}",
                peer.id
            );
        }
    }
}
