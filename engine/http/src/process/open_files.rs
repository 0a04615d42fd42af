//! The open-file limit: every connection is a file, and the default of many systems is 1,024 of them.

use crate::limits::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a process needs besides its connections and what `reserved` covers.
const OWN_FILES: u64 = 64;
/// The most files that are asked for without need: what Linux allows a process unless configured otherwise.
const USEFUL_FILES_MAX: u64 = 1 << 20;

/// The fewest connections for which a server starts where the system does not allow as many as are asked for.
const CONNECTIONS_MIN: usize = 50;

/// Raises the process's limit of open files as far as the system allows, and lowers `limits.connections_max` where that
/// is not enough for them and for further files: `reserved` ones (of databases, logs, caches), which take at most half
/// of what the system allows, and `shared` ones (of uploads), which take at most a quarter. Returns a line for the log
/// if it did.
///
/// # Errors
/// There are files for fewer than 50 connections.
pub fn raise_open_files(
    limits: &mut Limits,
    reserved: u64,
    shared: u64,
) -> Result<Option<String>, String> {
    let own = OWN_FILES + reserved + limits.refused_max as u64;
    let wanted = limits.connections_max as u64 + own + shared;
    lower_connections(limits, own, shared, raise_to(wanted))
}

/// Lowers `limits.connections_max` to what `allowed` files leave.
fn lower_connections(
    limits: &mut Limits,
    own: u64,
    shared: u64,
    allowed: u64,
) -> Result<Option<String>, String> {
    let wanted = limits.connections_max as u64 + own + shared;
    if allowed >= wanted {
        return Ok(None);
    }
    let asked = limits.connections_max;
    let kept = own.min(allowed / 2) + shared.min(allowed / 4);
    let left = allowed.saturating_sub(kept) as usize;
    // As few as are asked for may fit beside fewer shared files.
    limits.connections_max = left.min(asked);
    if left < CONNECTIONS_MIN.min(asked) {
        return Err(format!(
            "the system allows the process {allowed} open files, which leaves {left} for connections: raise that limit \
             (`ulimit -n`, or LimitNOFILE in a unit of systemd), best to {wanted}"
        ));
    }
    if left >= asked {
        return Ok(None);
    }
    Ok(Some(format!(
        "connections_max lowered from {asked} to {left}: the system allows {allowed} open files (ulimit -n) and \
         {wanted} would be needed"
    )))
}

/// Raises the soft limit to the hard one, and that to `wanted` where it is permitted. Returns what is allowed then.
fn raise_to(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let useful = wanted.max(hard.min(USEFUL_FILES_MAX));
    if soft >= useful {
        return soft;
    }
    for hard in [hard.max(wanted), hard] {
        let raised = Rlimit {
            current: Some(useful.min(hard)),
            maximum: (hard != u64::MAX).then_some(hard),
        };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return useful.min(hard);
        }
    }
    soft
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_the_system_allows_is_used() {
        let mut limit = getrlimit(Resource::Nofile);
        let hard = limit.maximum.unwrap_or(u64::MAX);
        limit.current = Some(hard.min(900));
        setrlimit(Resource::Nofile, limit).expect("a lower limit is always allowed");
        assert_eq!(raise_to(500), hard.min(USEFUL_FILES_MAX));
    }

    #[test]
    fn connections_are_lowered_to_what_the_system_allows() {
        let mut limits = Limits {
            connections_max: 1,
            ..Limits::default()
        };
        assert_eq!(raise_open_files(&mut limits, 0, 0), Ok(None));
        assert_eq!(limits.connections_max, 1);
        // More than any system has.
        let mut limits = Limits {
            connections_max: 1 << 40,
            ..Limits::default()
        };
        // Shared files take a quarter at most.
        let note = raise_open_files(&mut limits, 0, 1 << 40).expect("enough files");
        let note = note.expect("that many cannot be allowed");
        assert!(
            note.starts_with("connections_max lowered from 1099511627776 to "),
            "{note}"
        );
        assert!(limits.connections_max < 1 << 40 && limits.connections_max > 0);
    }

    #[test]
    fn a_few_connections_are_an_error() {
        let lowered = |allowed| {
            let mut limits = Limits {
                connections_max: 10_000,
                ..Limits::default()
            };
            let result = lower_connections(&mut limits, 900, 1_000, allowed);
            result.map(|_| limits.connections_max)
        };
        let error = lowered(196).expect_err("few files are left");
        assert!(error.contains("which leaves 49 for connections"), "{error}");
        assert!(error.contains("LimitNOFILE"), "{error}");
        // The usual limit of shells.
        assert_eq!(lowered(1_024), Ok(256));
        assert_eq!(lowered(400), Ok(100));
    }
}
