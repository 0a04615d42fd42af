//! Loading the project anew while it is served: for `SIGHUP`, for `sampan reload`, and for `sampan dev`.
//!
//! A `Generation` is the project as it was read at one time. A reload has two steps (`swap`). Each worker loads an
//! isolate of the new generation beside the one that serves; when all of them have, each answers with the new one.
//! Where one fails, all drop what they loaded, and nothing has changed. The isolates of slow routes and of jobs load it
//! afterwards (`renewals`). An old isolate ends after its last request (`retiring`). With `mode = "file"` requests
//! notice changes themselves (`file_mode`): of the files that were read (`seen_files`), at which they look from time to
//! time (`followed_files`). Without it a generation keeps them as they were first read, so that isolates that load
//! later load the same.

pub(crate) mod control;
pub(crate) mod file_mode;
pub(crate) mod followed_files;
pub(crate) mod renewals;
pub(crate) mod requests;
pub(crate) mod retiring;
pub(crate) mod script_files;
pub(crate) mod seen_files;
pub(crate) mod swap;
