//! The tests of the driver once more, over TLS: `common::Server` looks at where it stands.

#[path = "../answers.rs"]
mod answers;
#[path = "../faults.rs"]
mod faults;
#[path = "../files.rs"]
mod files;
#[path = "../http2/mod.rs"]
mod http2;
#[path = "../incoming.rs"]
mod incoming;
#[path = "../lent.rs"]
mod lent;
#[path = "../life.rs"]
mod life;
#[path = "../limits.rs"]
mod limits;
#[path = "../linger.rs"]
mod linger;
mod pumped;
#[path = "../serving.rs"]
mod serving;
#[path = "../bodies/sized.rs"]
mod sized;
#[path = "../upgrade.rs"]
mod upgrade;
