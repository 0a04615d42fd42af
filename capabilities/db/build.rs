//! Refuses to be built beside an SQLite without the flags that Sampan counts on. They come from the environment of the
//! build script of
//! `libsqlite3-sys`, which the `.cargo/config.toml` of this workspace does not set for programs elsewhere that depend
//! on Sampan.

use std::env;
use std::process::exit;

/// The flags of `.cargo/config.toml`, which gives the reasons.
const FLAGS: &str = "-DHAVE_FDATASYNC=1 -DSQLITE_DQS=0 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_DEFAULT_MEMSTATUS=0 \
    -DSQLITE_OMIT_SHARED_CACHE -DSQLITE_USE_ALLOCA -DSQLITE_OMIT_LOAD_EXTENSION -USQLITE_ENABLE_LOAD_EXTENSION \
    -USQLITE_ENABLE_API_ARMOR -USQLITE_SOUNDEX -USQLITE_USE_URI";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBSQLITE3_FLAGS");
    let given = env::var("LIBSQLITE3_FLAGS").unwrap_or_default();
    let given: Vec<&str> = given.split_whitespace().collect();
    let missing: Vec<&str> = FLAGS
        .split_whitespace()
        .filter(|flag| !given.contains(flag))
        .collect();
    if missing.is_empty() {
        return;
    }
    let missing = missing.join(" ");
    eprintln!(
        "SQLite is built without flags that Sampan counts on: {missing}\n\
         Put these lines into .cargo/config.toml in the folder of your program, and build again:\n\n\
         [env]\nLIBSQLITE3_FLAGS = \"{FLAGS}\"\n"
    );
    exit(1);
}
