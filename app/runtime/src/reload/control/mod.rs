//! The control socket of `sampan reload` and `sampan upgrade`: each server listens on an abstract Unix socket whose
//! name tells the project's folder.
//!
//! Such a name needs no file, so nothing is left behind by a server that was killed, and the kernel lists them. They
//! are visible to every user of the machine, so a server asks the kernel who calls, and obeys its own user and root. It
//! answers each caller on a thread of its own: one that says nothing keeps no other waiting. Each user may also listen
//! on such a name. A caller trusts a process of its own user or root whose number is the one in the name, and waits for
//! no other without an end.

pub(crate) mod client;
pub(crate) mod server;
mod wire;
