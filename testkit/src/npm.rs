//! The npm packages of tests, in a folder below `target`, installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Bun as a package, which needs no script to be installed.
const BUN: &str = "@oven/bun-linux-x64@1.4.5";
const BUN_PROGRAM: &str = "node_modules/@oven/bun-linux-x64/bin/bun";

/// A folder below that of cargo's output, in which these packages are installed; nothing where npm or its registry is
/// not there. `proof` is a file that is there once they are.
pub fn packages(name: &str, packages: &[&str], proof: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let target = test.ancestors().nth(3)?;
    let folder = target.join(name);
    // Tests of one program ask at the same time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if !folder.join(proof).exists() {
        // Elsewhere first: another program may install the same.
        let fresh = target.join(format!("{name}-{}", std::process::id()));
        install(&fresh, packages)?;
        if fs::rename(&fresh, &folder).is_err() {
            let _ = fs::remove_dir_all(&fresh);
        }
    }
    folder.join(proof).exists().then_some(folder)
}

/// Installs these packages in a folder, and those that its `package.json` names; nothing where npm or its registry is
/// not there.
pub fn install(folder: &Path, packages: &[&str]) -> Option<()> {
    fs::create_dir_all(folder).ok()?;
    let status = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-package-lock"])
        .args(["--no-audit", "--no-fund", "--fetch-retries=1"])
        .args(["--loglevel=error", "--prefix=."])
        .args(packages)
        .current_dir(folder)
        .status();
    status.ok()?.success().then_some(())
}

/// The program of Bun.
pub fn bun() -> Option<PathBuf> {
    Some(packages("bun-test", &[BUN], BUN_PROGRAM)?.join(BUN_PROGRAM))
}
