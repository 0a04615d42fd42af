//! The runtime: how an isolate is made, entered, limited and ended, and how native functions get into it.

pub(crate) mod bind;
pub(crate) mod declare;
pub(crate) mod error;
pub(crate) mod hidden;
pub(crate) mod hooks;
pub(crate) mod interrupts;
pub(crate) mod isolate;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod probe;
pub(crate) mod source_text;
pub(crate) mod sys;
