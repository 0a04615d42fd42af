//! The open-file limit: every connection is a file, and the default of many systems is 1,024 of them.

use crate::limits::Limits;

/// Files that a process needs besides its connections and what `reserved` covers.
const OWN_FILES: u64 = 64;
/// The most files that are asked for without need: what Linux allows a process unless configured otherwise.
const USEFUL_FILES_MAX: u64 = 1 << 20;

/// Raises the process's limit of open files as far as the system allows, and lowers `limits.connections_max` where that
/// is not enough for them and for `reserved` further files (of databases, logs, uploads). Returns a line for the log if
/// it did.
pub fn raise_open_files(limits: &mut Limits, reserved: u64) -> Option<String> {
    let own = OWN_FILES + reserved + limits.refused_max as u64;
    let wanted = limits.connections_max as u64 + own;
    let allowed = raise_to(wanted);
    if allowed >= wanted {
        return None;
    }
    let asked = limits.connections_max;
    limits.connections_max = allowed.saturating_sub(own).max(1) as usize;
    Some(format!(
        "connections_max lowered from {asked} to {}: the system allows {allowed} open files (ulimit -n) and {wanted} \
         would be needed",
        limits.connections_max
    ))
}

/// Raises the soft limit to the hard one, and that to `wanted` where it is permitted. Returns what is allowed then.
#[allow(unsafe_code)] // the standard library has no call for resource limits
fn raise_to(wanted: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a live rlimit, which getrlimit fills and does not keep.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        // Unknown; the accept loop copes with running out.
        return wanted;
    }
    let useful = wanted.max(limit.rlim_max.min(USEFUL_FILES_MAX));
    if limit.rlim_cur >= useful {
        return limit.rlim_cur;
    }
    for hard in [limit.rlim_max.max(wanted), limit.rlim_max] {
        let raised = libc::rlimit {
            rlim_cur: useful.min(hard),
            rlim_max: hard,
        };
        // SAFETY: the pointer is to a live rlimit, which setrlimit only reads.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0 {
            return raised.rlim_cur;
        }
    }
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn all_that_the_system_allows_is_used() {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is a place for the limits of this process, which both calls only read or fill.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
            limit.rlim_cur = limit.rlim_max.min(900);
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
        }
        assert_eq!(raise_to(500), limit.rlim_max.min(USEFUL_FILES_MAX));
    }

    #[test]
    fn connections_are_lowered_to_what_the_system_allows() {
        let mut limits = Limits {
            connections_max: 1,
            ..Limits::default()
        };
        assert_eq!(raise_open_files(&mut limits, 0), None);
        assert_eq!(limits.connections_max, 1);
        // More than any system has.
        let mut limits = Limits {
            connections_max: 1 << 40,
            ..Limits::default()
        };
        let note = raise_open_files(&mut limits, 0).expect("that many cannot be allowed");
        assert!(
            note.starts_with("connections_max lowered from 1099511627776 to "),
            "{note}"
        );
        assert!(limits.connections_max < 1 << 40 && limits.connections_max > 0);
    }
}
