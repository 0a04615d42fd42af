//! Idempotency keys (draft-ietf-httpapi-idempotency-key-header-07): the answer to a request is recorded, and given
//! again to its repetitions.
//!
//! A record is written into the app's database behind the handler, in the group of its last writes. So it is there if
//! and only if they are. `running` knows the keys whose first request still runs; it is of the process. Other processes
//! find a claim in the place of the record. It is written before the handler runs, and committed when the handler first
//! waits.

mod guard;
mod record;
mod running;

pub(crate) use guard::{IdempotencyTables, idempotency};
pub(crate) use running::RunningKeys;
