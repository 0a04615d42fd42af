//! Where the checkout and its build output are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

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

/// What `cargo metadata` says about the workspace at `root`.
///
/// # Errors
///
/// When cargo cannot be run or refuses, with what it said.
pub(crate) fn metadata(root: &Path, arguments: &[&str]) -> Result<serde_json::Value, Error> {
    let output = cargo(root)
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", said.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The folder that cargo builds into, wherever it was configured to be.
///
/// # Errors
///
/// As [`metadata`].
pub(crate) fn target_dir(root: &Path) -> Result<PathBuf, Error> {
    let metadata = metadata(root, &["--no-deps", "--offline"])?;
    let dir = metadata["target_directory"]
        .as_str()
        .ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(dir))
}
