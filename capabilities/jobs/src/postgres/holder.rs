//! The name of a process in the rows of jobs that it has taken.

/// Returns a name that no other process has.
pub(super) fn holder() -> String {
    let mut bytes = [0; 8];
    // Without random numbers the number of the process has to do.
    let _ = getrandom::fill(&mut bytes);
    let random = u64::from_ne_bytes(bytes);
    format!("{random:016x}-{}", std::process::id())
}
