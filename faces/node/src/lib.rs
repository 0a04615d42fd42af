//! The npm package `sampan`: the engine of `sampan run` inside of Node.js and Bun.
//!
//! `serve` answers requests by functions of a program; `run` is `npx sampan run`, whose workers are JavaScript threads.
// Node-API is a C interface. Every unsafe block says what makes it sound.
#![allow(unsafe_code)]

mod doorbell;
mod run;
mod serve;

use napi_sys as sys;
use std::sync::Once;

/// The version of Node-API that is used.
#[unsafe(no_mangle)]
extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}

/// Called once for each environment that loads the module.
///
/// # Safety
/// Node-API calls it, with a live environment and object.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(
    env: sys::napi_env,
    exports: sys::napi_value,
) -> sys::napi_value {
    static LOADED: Once = Once::new();
    LOADED.call_once(|| {
        // SAFETY: the functions of Node-API are looked up once, before the first is called. The library that has them
        // is the program itself.
        std::mem::forget(unsafe { sys::setup() });
    });
    // SAFETY: Node-API calls this with the environment of this thread and a live handle.
    unsafe {
        serve::define(env, exports);
        run::define(env, exports);
    }
    exports
}
