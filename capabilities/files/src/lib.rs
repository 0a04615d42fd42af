//! Files: what an app may read and keep, and the files that clients send in forms.
//!
//! `storage/` has the folders and what is done with them, in plain Rust; it blocks. `api.rs` gives it to scripts: small
//! files are read in place, everything else goes on beside the workers (`pool.rs`). `uploads/` reads forms.

mod api;
mod capability;
mod held_open;
mod limits;
mod lines;
mod packed;
mod path;
mod pool;
mod settings;
mod storage;
mod streams;
mod temp;
mod uploads;
mod values;

pub use api::MODULE;
pub use capability::CAPABILITY;
pub use limits::{FormLimits, SPOOLED_FILES_MAX};
pub use settings::{FORMS, SECTION};
pub use storage::{Durability, FilesConfig, Storage};
