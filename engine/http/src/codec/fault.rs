//! Refusals of the codec.

/// The refusal of a request: the status of the error answer, and a reason for people who debug clients. After it the
/// connection must be closed, because the place of the next request is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// 400, 413, 414, 417, 431, 501 or 505; of an answer mostly 502.
    pub status: u16,
    /// The fault, in a few words.
    pub reason: &'static str,
    /// The limit that the request is above, if that is the fault.
    pub limit: Option<Exceeded>,
}

/// A limit that a request was above: its name in [`Limits`](crate::Limits), and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// The name, whose end says the unit.
    pub name: &'static str,
    /// The most that is allowed.
    pub max: u64,
}

impl Fault {
    pub(crate) const fn new(status: u16, reason: &'static str) -> Fault {
        Fault {
            status,
            reason,
            limit: None,
        }
    }

    pub(crate) const fn above(
        status: u16,
        reason: &'static str,
        name: &'static str,
        max: u64,
    ) -> Fault {
        Fault {
            status,
            reason,
            limit: Some(Exceeded { name, max }),
        }
    }

    pub(crate) const fn bad(reason: &'static str) -> Fault {
        Fault::new(400, reason)
    }
}
