//! `cargo xtask bench static`: files of three sizes, served from a folder. Ours is that of examples/bench_static.

use std::path::Path;

use super::side_by_side::{SideBySide, SideOptions};
use crate::error::Error;
use crate::peers::storage::files;
use crate::peers::{Peer, STATIC_PEERS};
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::{self, Route};

pub(crate) struct Static;

impl SideBySide for Static {
    const SUITE: &'static Suite = &report::STATIC;
    const PEERS: &'static [Peer] = STATIC_PEERS;
    const ROUTES: &'static [Route] = routes::STATIC;
    const TARGETS: &'static [RatioTarget] = targets::STATIC;
}

/// Runs the benchmark and writes `static.json`, `static.md` and `static.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`SideOptions::run`].
pub(crate) fn static_files(options: &SideOptions<Static>) -> Result<bool, Error> {
    write_files(&files(&crate::checkout::root()))?;
    options.run()
}

/// Makes the files that are not there.
fn write_files(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (name, bytes) in routes::FILES {
        let path = folder.join(name);
        let text = routes::digits(*bytes);
        let is_there = std::fs::read(&path).is_ok_and(|found| found == text.as_bytes());
        if !is_there {
            std::fs::write(&path, text)?;
        }
    }
    Ok(())
}
