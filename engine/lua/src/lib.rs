//! LuaJIT behind the contract of `sampan-host`.
//!
//! [`Lua::load`] makes an isolate: a Lua state with its globals built from an allowlist, the `sampan` module and the
//! project's files. Requests are then answered by [`sampan_host::Isolate::start`].
//!
//! How unsafe code is kept in bounds here:
//! - Lua errors unwind through C frames. A C function of ours therefore works in two stages: first plain Rust under
//!   `guard`, which catches panics and calls nothing of Lua that can raise; then the pushing of results, which may raise and
//!   has no live destructor on the stack.
//! - Rust enters Lua only through `Core::protected`, one protected call around a C function of ours.
//! - What a C function needs beyond its arguments it finds through `vm::state::current`, set for as long as Lua runs.
#![allow(
    unsafe_code,
    reason = "this crate is the border to LuaJIT's C API; each block says what makes it sound"
)]

mod builtin_limits;
#[doc(hidden)]
pub mod comparison;
mod coroutines;
mod libraries;
mod request;
mod values;
mod vm;

pub use vm::isolate::Lua;
