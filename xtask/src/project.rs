//! The place of the checkout, and cargo commands in it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The cargo profile of what is published, and the name of its folder in `target`.
pub(crate) const PROFILE: &str = "published";

/// The root of the checkout: the folder above this crate.
///
/// Cargo tells the place at run time; the one recorded when this was built serves where it is started by hand.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// A `cargo` command that runs in `root` and prints no progress bar.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root)
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .env("CARGO_TERM_COLOR", "never");
    // Set by the cargo that started this program; build scripts of the inner one must not see them.
    command
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH");
    command
}
