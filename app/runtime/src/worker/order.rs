//! The messages of the server to its workers.

use crate::generation::Generation;
use sampan_host::Error;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A message to a worker.
pub(crate) enum Order {
    /// Load this beside what serves, and tell whether it loaded.
    Load(Arc<Generation>, SyncSender<Result<(), Error>>),
    /// Answer with what was loaded from now on, and tell when that is so.
    Swap(SyncSender<()>),
    /// Drop what was loaded.
    Discard,
    /// Load this and go on with it, when there is time.
    Renew(Arc<Generation>),
}
