//! The executable that `cargo xtask bench` measures: as it is published, made again only after a change.

use crate::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

/// The executable, from the root of the checkout.
const EXECUTABLE: &str = "target/bench/sampan";

/// Folders whose files are not compiled into the executable.
const OTHERS: [&str; 6] = ["bench/", "docs/", "examples/", "fuzz/", "tests/", "xtask/"];

/// Makes the executable: with the counts of a load where this machine can read them, without them elsewhere.
///
/// # Errors
/// It does not build, or an example does not answer.
pub(super) fn build(root: &Path, triple: &str) -> Result<(), Error> {
    let to = root.join(EXECUTABLE);
    let built = match super::pgo::merger() {
        // Cargo cannot tell that the counts are old.
        Ok(_) if is_current(root, &to)? => return Ok(()),
        Ok(_) => super::pgo::build(root, triple)?,
        Err(why) => {
            println!("measured without profile-guided optimisation: {why}");
            super::build(root, None)?
        }
    };
    fs::create_dir_all(root.join("target/bench"))?;
    // Never in place: an older one may still run.
    let _ = fs::remove_file(&to);
    fs::copy(built, to)?;
    Ok(())
}

/// Reports whether the executable is newer than everything that it is made from.
fn is_current(root: &Path, executable: &Path) -> Result<bool, Error> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let Ok(made) = modified(executable) else {
        return Ok(false);
    };
    let mut list = Command::new("git");
    let listed = list.args(["ls-files", "-z"]).current_dir(root).output()?;
    let names = String::from_utf8_lossy(&listed.stdout);
    let mut names = names.split('\0').filter(|name| is_source(name)).peekable();
    let is_older = |name: &str| {
        let changed = modified(&root.join(name)).unwrap_or(SystemTime::UNIX_EPOCH);
        changed < made
    };
    // Without a list nothing is known.
    Ok(names.peek().is_some() && names.all(is_older))
}

fn is_source(name: &str) -> bool {
    let is_other = OTHERS.iter().any(|folder| name.starts_with(folder));
    !name.is_empty() && !is_other && !name.ends_with(".md")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    #[test]
    fn a_change_of_a_source_makes_the_executable_old() {
        let root = project::root();
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("sampan");
        let is_current = || is_current(&root, &executable).expect("git lists files");
        assert!(!is_current(), "there is none");
        fs::write(&executable, "").expect("written");
        assert!(is_current());
        let file = fs::File::options().write(true).open(&executable);
        let set = file.expect("opened").set_modified(SystemTime::UNIX_EPOCH);
        set.expect("set");
        assert!(!is_current(), "sources are newer");
        assert!(is_source("app/runtime/src/lib.rs") && is_source("Cargo.lock"));
        assert!(!is_source("bench/src/main.rs") && !is_source("README.md"));
    }
}
