//! The relation between a pattern of middleware and that of a route.

/// The relation between a pattern and the paths, or the hosts, that another one matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Covers {
    /// All of them.
    Always,
    /// No path, or no host.
    Never,
    /// The answer depends on the path, or on the host.
    Perhaps,
}
