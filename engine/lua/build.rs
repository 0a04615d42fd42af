//! Compiles LuaJIT. `mlua-sys` could do that too, but takes the flag that matters from the environment only, which the
//! `.cargo/config.toml` of this workspace does not set for programs elsewhere that depend on Sampan.

#![allow(unsafe_code)]

use std::env;

/// Compiled loops ignore debug hooks unless LuaJIT is built with this: a runaway script could not be stopped.
const CHECKHOOK: &str = "-DLUAJIT_ENABLE_CHECKHOOK";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TARGET_FLAGS");
    let given = env::var("TARGET_FLAGS").unwrap_or_default();
    // SAFETY: a build script has one thread, and has started no other yet.
    unsafe { env::set_var("TARGET_FLAGS", format!("{given} {CHECKHOOK}")) };
    let built = luajit_src::Build::new().lua52compat(true).build();
    built.print_cargo_metadata();
}
