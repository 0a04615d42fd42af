//! One fuzz target under libFuzzer, whose mutations follow the code that they reach. `cargo xtask fuzz` builds and runs
//! it; the variable `SAMPAN_FUZZ_TARGET` names the target.

#![no_main]

use sampan_fuzz::{FuzzTarget, TARGETS};
use std::sync::LazyLock;

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("SAMPAN_FUZZ_TARGET").unwrap_or_default();
    let target = TARGETS.iter().find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("SAMPAN_FUZZ_TARGET={name:?} is no fuzz target"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
