//! Sampan as a C library: `include/sampan.h` is made from this crate.
//!
//! Each function reads its arguments, calls one function of the crate `sampan`, and writes its results. C holds
//! numbers: a `handles::Handles` table finds the value of a number, and knows when the number has no value any more. No
//! Rust box is ever C's, so nothing can be freed twice. Panics end in `status::protect`.
//!
//! C's part of the contract remains unsafe: a pointer and a length that C passes must describe memory that it owns for
//! as long as the call lasts. The functions of `text` are the only ones that read such memory.

// The border to C: each block says what makes it sound.
#![allow(unsafe_code)]
// Names are C's.
#![allow(non_camel_case_types)]

mod entries;
mod handles;
mod inbox;
mod options;
mod queue;
mod replies;
mod requests;
mod scripts;
mod server;
mod server_state;
mod signals;
mod status;
mod streams;
mod text;

pub use entries::*;
pub use options::*;
pub use replies::*;
pub use requests::*;
pub use scripts::*;
pub use server::*;
pub use status::*;
pub use streams::*;
