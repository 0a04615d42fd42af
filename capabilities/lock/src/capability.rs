//! The capability: the locks of the process.

use crate::locks::Locks;
use crate::rows::MODULE;
use crate::server::{SERVER_TABLES, ServerLocks};
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::database::AppTables;
use sampan_host::{Capability, Context, Effects, Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

/// Locks.
pub static CAPABILITY: Capability = Capability {
    name: "lock",
    modules: &[&MODULE],
    server_tables: &[SERVER_TABLES],
    process,
    isolate,
    ..Capability::EMPTY
};

/// The locks as an isolate sees them.
pub(crate) struct IsolateLocks {
    pub(crate) all: Arc<Locks>,
    /// The locks of all processes, where the database is on a server.
    pub(crate) server: Option<ServerLocks>,
    pub(crate) effects: Effects,
}

/// Makes the locks of the process. They outlive reloads: requests of the code before may have some.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let before = setup.before.and_then(Shared::get::<Locks>);
    setup.shared.put(before.unwrap_or_default());
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for locks"));
    let tables = setup.worker.get::<Rc<dyn AppTables>>();
    let server = tables.and_then(|tables| tables.waiting()).map(ServerLocks);
    setup.context.put(IsolateLocks {
        server,
        all: setup.shared.get().ok_or_else(missing("memory"))?,
        effects: Effects::of(setup.context).ok_or_else(missing("outbox"))?,
    });
    Ok(())
}

/// Returns the locks of an isolate.
pub(crate) fn of(context: &Context) -> Option<Rc<IsolateLocks>> {
    context.get::<IsolateLocks>()
}
