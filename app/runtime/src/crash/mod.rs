//! Reports of crashes: the folder that they are kept in, and the route that a thread was running. The program writes
//! them (`faces/cli/src/crash`).

pub(crate) mod running;
pub(crate) mod settings;
pub(crate) mod versions;

pub use running::{running_route, running_routes, tell_running_routes};
pub use versions::engine_versions;
