//! The place of the checkout.

use std::path::{Path, PathBuf};

/// The root of the checkout: the folder above this crate.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
