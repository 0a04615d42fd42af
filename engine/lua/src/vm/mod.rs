//! The Lua state: how an isolate is made, entered, limited and ended, and how native functions get into it.

pub(crate) mod bind;
pub(crate) mod error;
pub(crate) mod host_table;
pub(crate) mod isolate;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod raise;
pub(crate) mod random;
pub(crate) mod stack;
pub(crate) mod state;
pub(crate) mod version;
pub(crate) mod worlds;
