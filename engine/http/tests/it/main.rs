//! The driver over real sockets. One program, because each test program links all of it.

// Each file brings what the tests share, so that `common::run_worker` sees where it stands.
#![allow(clippy::duplicate_mod)]

#[path = "answers.rs"]
mod answers;
#[path = "faults.rs"]
mod faults;
#[path = "files.rs"]
mod files;
#[path = "handshakes.rs"]
mod handshakes;
#[path = "http2/mod.rs"]
mod http2;
#[path = "incoming.rs"]
mod incoming;
#[path = "lent.rs"]
mod lent;
#[path = "life.rs"]
mod life;
#[path = "limits.rs"]
mod limits;
#[path = "linger.rs"]
mod linger;
#[path = "parked/mod.rs"]
mod parked;
mod pumped;
mod secured;
#[path = "serving.rs"]
mod serving;
#[path = "bodies/sized.rs"]
mod sized;
#[path = "tls.rs"]
mod tls;
#[path = "unsent.rs"]
mod unsent;
#[path = "upgrade.rs"]
mod upgrade;
