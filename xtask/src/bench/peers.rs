//! The peers: who is measured, on which routes, and how each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::placement::Placement;
use super::routes::{ALL, Route};

/// A server to measure.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its name on the command line, and its folder below `bench/peers`.
    pub(super) id: &'static str,
    /// Its name in reports.
    pub(super) title: &'static str,
    pub(super) kind: Kind,
    pub(super) routes: &'static [Route],
}

/// How a peer is installed and started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Debian's nginx, with its Lua module or without, and a configuration of ours.
    Nginx { lua: bool },
    /// A `server.js` for Bun.
    Bun,
    /// A `server.js` for Node.js.
    Node,
    /// A program in Go.
    Go,
    /// This file of `examples/hello`.
    Sampan(&'static str),
}

/// nginx answers fixed text; it has no handlers.
const FIXED: &[Route] = &[Route::Version, Route::Health];

/// Its module adds the handlers; what is fixed is measured with the plain one.
const HANDLERS: &[Route] = &[Route::Health, Route::Greet, Route::Echo, Route::GreetPost];

/// Everyone, ours first.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        id: SAMPAN_LUA,
        title: "Sampan, Lua",
        kind: Kind::Sampan("app.lua"),
        routes: ALL,
    },
    Peer {
        id: SAMPAN_JS,
        title: "Sampan, JavaScript",
        kind: Kind::Sampan("app.js"),
        routes: ALL,
    },
    Peer {
        id: "nginx",
        title: "nginx",
        kind: Kind::Nginx { lua: false },
        routes: FIXED,
    },
    Peer {
        id: "nginx-lua",
        title: "nginx + Lua",
        kind: Kind::Nginx { lua: true },
        routes: HANDLERS,
    },
    Peer {
        id: "bun",
        title: "Bun.serve",
        kind: Kind::Bun,
        routes: ALL,
    },
    Peer {
        id: "elysia",
        title: "Elysia on Bun",
        kind: Kind::Bun,
        routes: ALL,
    },
    Peer {
        id: "hono",
        title: "Hono on Bun",
        kind: Kind::Bun,
        routes: ALL,
    },
    Peer {
        id: "go",
        title: "Go net/http",
        kind: Kind::Go,
        routes: ALL,
    },
    Peer {
        id: "node",
        title: "Node http",
        kind: Kind::Node,
        routes: ALL,
    },
    Peer {
        id: "fastify",
        title: "Fastify on Node",
        kind: Kind::Node,
        routes: ALL,
    },
    Peer {
        id: "express",
        title: "Express on Node",
        kind: Kind::Node,
        routes: ALL,
    },
];

/// Ours with the Lua app.
pub(super) const SAMPAN_LUA: &str = "sampan-lua";
/// Ours with the JavaScript app.
pub(super) const SAMPAN_JS: &str = "sampan-js";

impl Peer {
    /// Whether it is ours.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.kind, Kind::Sampan(_))
    }

    /// The file of `examples/hello` that ours runs.
    pub(super) fn example(&self, root: &Path) -> PathBuf {
        let file = if let Kind::Sampan(file) = self.kind {
            file
        } else {
            ""
        };
        root.join("examples/hello").join(file)
    }

    /// The command that serves on this port of 127.0.0.1 with so many threads.
    pub(super) fn command(
        &self,
        installed: &Installed,
        placement: &Placement,
        port: u16,
        threads: usize,
    ) -> Command {
        let mut command = placement.server(&installed.program);
        command
            .args(&installed.arguments)
            .current_dir(&installed.folder);
        match self.kind {
            Kind::Sampan(_) => {
                command.args([
                    "--listen",
                    &format!("127.0.0.1:{port}"),
                    "--workers",
                    &threads.to_string(),
                ]);
            }
            Kind::Nginx { .. } | Kind::Bun | Kind::Node | Kind::Go => {
                command
                    .env("PORT", port.to_string())
                    .env("THREADS", threads.to_string());
                command
                    .env("GOMAXPROCS", threads.to_string())
                    .env("NODE_ENV", "production");
            }
        }
        command
    }
}

/// What to start of a peer that is ready to be started.
#[derive(Clone, Debug)]
pub(super) struct Installed {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// The working folder.
    pub(super) folder: PathBuf,
    /// A configuration with places to fill in: where it is read, and where it goes.
    pub(super) configuration: Option<(PathBuf, PathBuf)>,
    /// What was measured, as in `Bun 1.4.5`.
    pub(super) version: String,
}

impl Installed {
    /// Fills in the port and the threads, for peers that take these from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(super) fn configure(&self, port: u16, threads: usize) -> std::io::Result<()> {
        let Some((from, to)) = &self.configuration else {
            return Ok(());
        };
        let text = std::fs::read_to_string(from)?
            .replace("@PORT@", &port.to_string())
            .replace("@THREADS@", &threads.to_string())
            .replace("@MODULES@", super::install::NGINX_MODULES);
        std::fs::write(to, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_its_files() {
        let root = crate::project::root();
        for peer in PEERS.iter().filter(|peer| !peer.is_ours()) {
            let file = match peer.kind {
                Kind::Nginx { .. } => "nginx.conf",
                Kind::Go => "main.go",
                _ => "server.js",
            };
            assert!(
                root.join("bench/peers").join(peer.id).join(file).exists(),
                "{}",
                peer.id
            );
        }
    }
}
