//! Cases that cannot pass somewhere.

/// A case, and where it cannot pass.
pub(crate) struct Exception {
    pub(crate) case: &'static str,
    pub(crate) on: &'static [&'static str],
    /// The requests that are left out, by their names; all of the case where there are none.
    pub(crate) requests: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const fn whole(
    case: &'static str,
    on: &'static [&'static str],
    why: &'static str,
) -> Exception {
    part(case, on, &[], why)
}

pub(crate) const fn part(
    case: &'static str,
    on: &'static [&'static str],
    requests: &'static [&'static str],
    why: &'static str,
) -> Exception {
    Exception {
        case,
        on,
        requests,
        why,
    }
}
