//! `cargo xtask c`: what programs in C link, in `target/c`: `libsampan.a`, `libsampan.so` and `sampan.h`.
//!
//! A static library made by cargo shows every symbol of everything in it: of SQLite, LuaJIT, QuickJS, zstd. A program
//! that has its own SQLite could not link it. So the objects are put together into one, in which only `sampan_*` can be
//! seen from outside.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::error::Error;
use crate::project;
use crate::project::PROFILE;

/// The header, from the root of the checkout.
pub(crate) const HEADER: &str = "faces/c/include/sampan.h";

/// The libraries that a program that links the static library needs besides.
pub(crate) const LINKED: &str = "-lpthread -ldl -lm -lgcc_s";

/// The options of `cargo xtask c`.
#[derive(Args)]
pub(crate) struct COptions {
    /// Build without optimisation, which is quicker
    #[arg(long)]
    debug: bool,
}

/// Makes the libraries. `false` if they do not compile.
///
/// # Errors
///
/// When a tool is missing or a file cannot be written.
pub(crate) fn run(options: &COptions) -> Result<bool, Error> {
    let root = project::root();
    let kind = if options.debug {
        Kind::Debug
    } else {
        Kind::Release
    };
    let library = static_library(&root, kind)?;
    let folder = root.join("target/c");
    let shared = built(&root, !options.debug).join("libsampan_c.so");
    fs::copy(&shared, folder.join("libsampan.so"))
        .map_err(|error| format!("{}: {error}", shared.display()))?;
    fs::copy(root.join(HEADER), folder.join("sampan.h"))?;
    println!("{}", folder.display());
    println!("link {} with {LINKED}, or libsampan.so", library.display());
    Ok(true)
}

/// The one of cargo's libraries that is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Release,
    Debug,
    /// The build that the tests have built and link just now: to build it again would take it away from them for a
    /// moment.
    OfTests,
}

/// Makes `target/c/libsampan.a`, and tells where it is.
///
/// # Errors
///
/// When it does not compile, or a tool of the linker is missing.
pub(crate) fn static_library(root: &Path, kind: Kind) -> Result<PathBuf, Error> {
    let mut build = project::cargo(root);
    match kind {
        // Beside the kind that Rust programs link, nothing is optimised while it is linked.
        Kind::Release => build
            .args(["rustc", "--package", "sampan-c", "--profile", PROFILE])
            .args(["--crate-type", "staticlib,cdylib"]),
        // Chosen alone it would have other features than the tests have, and all would be compiled again.
        Kind::Debug | Kind::OfTests => build.args(["build", "--workspace", "--lib"]),
    };
    if kind != Kind::OfTests && !build.status()?.success() {
        return Err("the C library does not compile".into());
    }
    let folder = built(root, kind == Kind::Release);
    let all = match kind {
        Kind::OfTests => folder.join("deps/libsampan_c.a"),
        Kind::Release | Kind::Debug => folder.join("libsampan_c.a"),
    };
    let folder = root.join("target/c");
    fs::create_dir_all(&folder)?;
    let (object, library) = (folder.join("sampan.o"), folder.join("libsampan.a"));
    let mut join = Command::new("ld");
    join.arg("-r").arg("-o").arg(&object);
    for name in &names(&fs::read_to_string(root.join(HEADER))?) {
        join.args(["--undefined", name]);
    }
    tool(join.arg(&all))?;
    let mut hide = Command::new("objcopy");
    hide.args(["--wildcard", "--keep-global-symbol=sampan_*"]);
    // What Rust's own library has for link-time optimisation: tools of another LLVM fail over it.
    hide.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    tool(hide.arg(&object))?;
    let _ = fs::remove_file(&library);
    tool(Command::new("ar").arg("rcs").arg(&library).arg(&object))?;
    fs::remove_file(&object)?;
    Ok(library)
}

/// Returns the folder of cargo's output.
fn built(root: &Path, is_release: bool) -> PathBuf {
    root.join("target")
        .join(if is_release { PROFILE } else { "debug" })
}

/// The functions that the header declares. What `nm` says of the library is not asked: where it has a plugin for
/// link-time optimisation that is older than Rust's LLVM, it sees nothing.
fn names(header: &str) -> BTreeSet<String> {
    let name = |before: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = before.rsplit(|letter| !is_part(letter)).next()?;
        name.starts_with("sampan_").then(|| name.to_owned())
    };
    let pieces: Vec<&str> = header.split('(').collect();
    let before = pieces.split_last().map_or(&[][..], |(_, before)| before);
    before.iter().filter_map(|piece| name(piece)).collect()
}

/// Runs a tool of the linker and gives what it prints.
fn tool(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().display().to_string();
    let how = "on Debian, `apt-get install binutils`";
    let output = project::needs(&name, how, command.output())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_a_header_are_found() {
        let header = "#include <x.h>\ntypedef void (*sampan_log_fn)(void *user);\n// See sampan_answer.\n\
             sampan_status sampan_answer(uint64_t id,\n  const char *sampan_text);\nconst char \
              *sampan_version(void);\n";
        let names: Vec<String> = names(header).into_iter().collect();
        assert_eq!(names, ["sampan_answer", "sampan_version"]);
    }
}
